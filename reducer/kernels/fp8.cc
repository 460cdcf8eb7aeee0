// Kernels of the fp8 types e4m3 and e5m2. See levels.h.
#include "reducer/kernels/levels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reducer/kernels/fp8.cc"
#include <hwy/foreach_target.h>

#include "reducer/kernels/packed-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fanin::HWY_NAMESPACE {

ReduceFn pick_fp8(DType type, RedOp op) {
  switch (type) {
    case DType::kE4M3:
      return pick_float_op<PackedBytes<E4M3>>(op);
    case DType::kE5M2:
      return pick_float_op<PackedBytes<E5M2>>(op);
    default:
      return nullptr;
  }
}

}  // namespace fanin::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
