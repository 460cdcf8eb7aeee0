// What the kernels are measured against: reads n buffers and writes one, and does no more to the bytes than
// one exclusive or, with the widest vectors this CPU has. Nothing that sums n buffers in one pass is faster.
#pragma once
#include <cstddef>

namespace fanin::perf {

// out may be none of the inputs; bytes is rounded down to whole tiles of at most 256 bytes. Any alignment.
void memory_loop(void* out, const void* const* in, size_t n, size_t bytes);

}  // namespace fanin::perf
