// Kernels of the fp8 types e4m3 and e5m2. See levels.h.
#include "reducer/kernels/levels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reducer/kernels/fp8.cc"
#include <hwy/foreach_target.h>

#include "reducer/kernels/bytes-inl.h"
#include "reducer/kernels/extremes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fanin::HWY_NAMESPACE {

template <class F>
ReduceFn pick_fp8_op(RedOp op) {
  using Exact = PackedBytes<F>;
  switch (op) {
    case RedOp::kSum:
#if HWY_TARGET == HWY_SCALAR
      return &reduce_all<Exact, Sum>;
#else
      return &reduce_common<ScaledBytes<F>, Sum>;
#endif
    case RedOp::kProd:
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2 && !defined(HWY_DISABLE_F16C)
      return &reduce_common<ConvertedBytes<F>, Prod>;
#else
      return &reduce_all<Exact, Prod>;  // scaled factors would not make a scaled product
#endif
    case RedOp::kMax:
    case RedOp::kMin:
      return pick_extreme<F, int8_t, Exact>(op == RedOp::kMax);
  }
  return nullptr;
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
