// Joins the kernel families of each SIMD level and chooses the level. See levels.h.
#include "reducer/kernels/levels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reducer/kernels/reduce.cc"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

namespace fanin::HWY_NAMESPACE {

ReduceFn pick_integers(DType type, RedOp op);
ReduceFn pick_floats(DType type, RedOp op);
ReduceFn pick_halves(DType type, RedOp op);
ReduceFn pick_fp8(DType type, RedOp op);

ReduceFn pick(DType type, RedOp op) {
  switch (type) {
    case DType::kF32:
    case DType::kF64:
      return pick_floats(type, op);
    case DType::kF16:
    case DType::kBF16:
      return pick_halves(type, op);
    case DType::kE4M3:
    case DType::kE5M2:
      return pick_fp8(type, op);
    default:
      return pick_integers(type, op);
  }
}

}  // namespace fanin::HWY_NAMESPACE

#if HWY_ONCE
namespace fanin {
namespace {

using Pick = ReduceFn (*)(DType, RedOp);

// The level of one Highway target bit; null when it was not compiled.
Pick pick_of(int64_t target) {
  switch (target) {
#if HWY_ARCH_X86
    case HWY_AVX3_DL:
      return HWY_CHOOSE_AVX3_DL(pick);
    case HWY_AVX3:
      return HWY_CHOOSE_AVX3(pick);
    case HWY_AVX2:
      return HWY_CHOOSE_AVX2(pick);
    case HWY_SSE4:
      return HWY_CHOOSE_SSE4(pick);
    case HWY_SSSE3:
      return HWY_CHOOSE_SSSE3(pick);
#elif HWY_ARCH_ARM
    case HWY_NEON:
      return HWY_CHOOSE_NEON(pick);
#endif
    default:
      return HWY_CHOOSE_FALLBACK(pick);
  }
}

std::vector<ReduceLevel> find_levels() {
  constexpr int64_t kFallback = HWY_TARGETS & (HWY_EMU128 | HWY_SCALAR);  // plain C++, runs anywhere
  std::vector<ReduceLevel> levels;
  // A lower bit is a better target.
  for (int64_t left = (hwy::SupportedTargets() | kFallback) & HWY_TARGETS; left != 0; left &= left - 1) {
    const int64_t target = left & -left;
    levels.push_back({hwy::TargetName(target), pick_of(target)});
  }
  return levels;
}

}  // namespace

ReduceFn reduce_fn(DType type, RedOp op) {
  static const Pick best = find_levels().front().fn;
  return best(type, op);
}

std::vector<ReduceLevel> reduce_levels() { return find_levels(); }

}  // namespace fanin
#endif  // HWY_ONCE
