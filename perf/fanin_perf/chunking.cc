#include "perf/fanin_perf/chunking.h"

#include <algorithm>

namespace fanin::perf {

Chunking nccl_chunking(size_t bytes, size_t channels) {
  // A channel that would get less than this is left out, as NCCL does.
  constexpr size_t kLeastPerChannel = 256 << 10;
  Chunking c{std::clamp<size_t>(bytes / kLeastPerChannel, 1, std::max<size_t>(channels, 1)), 512 << 10, 0};
  auto steps = [&] { return bytes / c.step_bytes(); };
  while (steps() < 64 && c.chunk_bytes > 128 << 10) c.chunk_bytes /= 2;
  while (steps() < 8 && c.chunk_bytes > 32 << 10) c.chunk_bytes /= 2;
  c.steps = (bytes + c.step_bytes() - 1) / c.step_bytes();
  return c;
}

}  // namespace fanin::perf
