// Kernels of the fp8 types e4m3 and e5m2. See levels.h.
#include "reducer/kernels/levels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reducer/kernels/fp8.cc"
#include <hwy/foreach_target.h>

#include "reducer/kernels/packed-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fanin::HWY_NAMESPACE {

template <class F>
ReduceFn pick_fp8_op(RedOp op) {
#if HWY_TARGET == HWY_SCALAR
  switch (op) {
    case RedOp::kSum:
      return &reduce_all<PackedBytes<F>, Sum>;
    case RedOp::kProd:
      return &reduce_all<PackedBytes<F>, Prod>;
    case RedOp::kMax:
      return &reduce_all<PackedBytes<F>, FloatMax>;
    case RedOp::kMin:
      return &reduce_all<PackedBytes<F>, FloatMin>;
  }
  return nullptr;
#else
  switch (op) {
    case RedOp::kSum:
      return &reduce_common<ScaledBytes<F>, Sum>;
    case RedOp::kProd:
      return &reduce_all<PackedBytes<F>, Prod>;  // scaled factors would not make a scaled product
    case RedOp::kMax:
      return &reduce_common<ScaledBytes<F>, CommonExtreme<true>>;
    case RedOp::kMin:
      return &reduce_common<ScaledBytes<F>, CommonExtreme<false>>;
  }
  return nullptr;
#endif
}

ReduceFn pick_fp8(DType type, RedOp op) {
  switch (type) {
    case DType::kE4M3:
      return pick_fp8_op<E4M3>(op);
    case DType::kE5M2:
      return pick_fp8_op<E5M2>(op);
    default:
      return nullptr;
  }
}

}  // namespace fanin::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
