// Element counts of one collective for a size in bytes, as nccl-tests rounds them. Pure.
#pragma once
#include <cstddef>
#include <cstdint>

#include "fanin/dtype.h"

namespace fanin::nccl_perf {

struct Shape {
  size_t send = 0, recv = 0;  // elements a rank gives and gets
  size_t count = 0;           // NCCL's count argument, and the count column
  size_t largest() const { return send > recv ? send : recv; }
};

// All-gather and reduce-scatter keep every rank's part 16-byte aligned, so small sizes may have no element at
// all.
constexpr Shape shape_of(Coll coll, uint64_t bytes, size_t element, int nranks) {
  const size_t total = bytes / element;
  if (coll == Coll::kAllReduce) return {total, total, total};
  const size_t align = 16 / element, n = static_cast<size_t>(nranks);
  const size_t part = total / n / align * align;
  if (coll == Coll::kAllGather) return {part, part * n, part};
  return {part * n, part, part};
}

}  // namespace fanin::nccl_perf
