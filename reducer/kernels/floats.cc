// Kernels of f32 and f64. See levels.h.
#include "reducer/kernels/levels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reducer/kernels/floats.cc"
#include <hwy/foreach_target.h>

#include "reducer/kernels/plain-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fanin::HWY_NAMESPACE {

ReduceFn pick_floats(DType type, RedOp op) {
  switch (type) {
    case DType::kF32:
      return pick_float_op<Plain<float>>(op);
    case DType::kF64:
      return pick_float_op<Plain<double>>(op);
    default:
      return nullptr;
  }
}

}  // namespace fanin::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
