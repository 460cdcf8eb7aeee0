#include "perf/kernels/memory_loop.h"

#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "perf/kernels/memory_loop.cc"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fanin::perf::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Two vectors at a time: of one, two, four and eight the fastest, or within noise of it, from L1 to DRAM.
void loop(void* to, const void* const* from, size_t n, size_t bytes) {
  const hn::ScalableTag<uint8_t> d;
  const size_t step = hn::Lanes(d);
  const auto* in = reinterpret_cast<const uint8_t* const*>(from);
  auto* out = static_cast<uint8_t*>(to);
  for (size_t at = 0; at + 2 * step <= bytes; at += 2 * step) {
    auto a = hn::LoadU(d, in[0] + at), b = hn::LoadU(d, in[0] + at + step);
    for (size_t r = 1; r < n; r++) {
      a = hn::Xor(a, hn::LoadU(d, in[r] + at));
      b = hn::Xor(b, hn::LoadU(d, in[r] + at + step));
    }
    hn::StoreU(a, d, out + at);
    hn::StoreU(b, d, out + at + step);
  }
}

}  // namespace fanin::perf::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fanin::perf {

HWY_EXPORT(loop);

void memory_loop(void* out, const void* const* in, size_t n, size_t bytes) {
  HWY_DYNAMIC_DISPATCH(loop)(out, in, n, bytes);
}

}  // namespace fanin::perf
#endif  // HWY_ONCE
