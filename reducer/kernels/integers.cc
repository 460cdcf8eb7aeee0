// Kernels of the integer types. See levels.h.
#include "reducer/kernels/levels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reducer/kernels/integers.cc"
#include <hwy/foreach_target.h>

#include "reducer/kernels/plain-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fanin::HWY_NAMESPACE {

// Sums and products wrap, so the unsigned kernel serves both signs.
template <class T>
ReduceFn pick_integer_op(RedOp op) {
  using Unsigned = hwy::MakeUnsigned<T>;
  switch (op) {
    case RedOp::kSum:
      return &reduce_all<Plain<Unsigned>, Sum>;
    case RedOp::kProd:
      if constexpr (sizeof(T) == 1) {
        return &reduce_all<ByteProducts, Prod>;
      } else {
        return &reduce_all<Plain<Unsigned>, Prod>;
      }
    case RedOp::kMax:
      return &reduce_all<Plain<T>, IntMax>;
    case RedOp::kMin:
      return &reduce_all<Plain<T>, IntMin>;
  }
  return nullptr;
}

ReduceFn pick_integers(DType type, RedOp op) {
  switch (type) {
    case DType::kI8:
      return pick_integer_op<int8_t>(op);
    case DType::kU8:
      return pick_integer_op<uint8_t>(op);
    case DType::kI32:
      return pick_integer_op<int32_t>(op);
    case DType::kU32:
      return pick_integer_op<uint32_t>(op);
    case DType::kI64:
      return pick_integer_op<int64_t>(op);
    case DType::kU64:
      return pick_integer_op<uint64_t>(op);
    default:
      return nullptr;
  }
}

}  // namespace fanin::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
