// Kernels of f16 and bf16. See levels.h.
#include "reducer/kernels/levels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reducer/kernels/halves.cc"
#include <hwy/foreach_target.h>

#include "reducer/kernels/extremes-inl.h"
#include "reducer/kernels/packed-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fanin::HWY_NAMESPACE {

template <class F, class SumCodec, class ProdCodec>
ReduceFn pick_half_op(RedOp op) {
  switch (op) {
    case RedOp::kSum:
      return &reduce_all<SumCodec, Sum>;
    case RedOp::kProd:
      return &reduce_all<ProdCodec, Prod>;
    case RedOp::kMax:
    case RedOp::kMin:
      return pick_extreme<F, int16_t, SumCodec>(op == RedOp::kMax);
  }
  return nullptr;
}

ReduceFn pick_halves(DType type, RedOp op) {
  switch (type) {
    case DType::kF16:
      return pick_half_op<F16, SumHalves, ProdHalves>(op);
    case DType::kBF16:
      return pick_half_op<BF16, PackedHalves<BF16>, PackedHalves<BF16>>(op);
    default:
      return nullptr;
  }
}

}  // namespace fanin::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
