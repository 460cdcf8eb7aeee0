#include "perf/kernels/memory_loop.h"

#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "perf/kernels/memory_loop.cc"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fanin::perf::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Four vectors at a time: of one, two, four and eight the fastest, or within noise of it.
void loop(void* to, const void* const* from, size_t n, size_t bytes) {
  const hn::ScalableTag<uint8_t> d;
  const size_t step = hn::Lanes(d);
  const auto* in = reinterpret_cast<const uint8_t* const*>(from);
  auto* out = static_cast<uint8_t*>(to);
  for (size_t at = 0; at + 4 * step <= bytes; at += 4 * step) {
    const uint8_t* p = in[0] + at;
    auto v0 = hn::LoadU(d, p), v1 = hn::LoadU(d, p + step), v2 = hn::LoadU(d, p + 2 * step),
         v3 = hn::LoadU(d, p + 3 * step);
    for (size_t r = 1; r < n; r++) {
      p = in[r] + at;
      v0 = hn::Xor(v0, hn::LoadU(d, p));
      v1 = hn::Xor(v1, hn::LoadU(d, p + step));
      v2 = hn::Xor(v2, hn::LoadU(d, p + 2 * step));
      v3 = hn::Xor(v3, hn::LoadU(d, p + 3 * step));
    }
    hn::StoreU(v0, d, out + at);
    hn::StoreU(v1, d, out + at + step);
    hn::StoreU(v2, d, out + at + 2 * step);
    hn::StoreU(v3, d, out + at + 3 * step);
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
