// Kernels of f16 and bf16. See levels.h.
#include "reducer/kernels/levels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reducer/kernels/halves.cc"
#include <hwy/foreach_target.h>

#include "reducer/kernels/packed-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fanin::HWY_NAMESPACE {

ReduceFn pick_halves(DType type, RedOp op) {
  switch (type) {
    case DType::kF16:
      return pick_float_op<ConvertedHalves>(op);
    case DType::kBF16:
      return pick_float_op<PackedHalves<BF16>>(op);
    default:
      return nullptr;
  }
}

}  // namespace fanin::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
