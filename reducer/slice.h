// What a slice header says: whether it is possible, whether two ranks said the same, how the slice is cut
// into blocks and which part of a block belongs to a rank. Pure functions on wire::SliceHeader; any thread.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>

#include "fanin/error.h"
#include "fanin/wire.h"

namespace fanin::reducer {

// Checks every field of a kSlice header of a session of nranks ranks. The error's text is what follows "rank
// 3 sent ".
Status check_slice(const wire::SliceHeader& h, uint32_t nranks);

// Same collective, type, operator, message and range.
bool same_slice(const wire::SliceHeader& a, const wire::SliceHeader& b);

// "rank 3 sent all-reduce float sum of 4096 bytes as message 7, rank 0 sent …", for headers that differ.
std::string disagreement(uint32_t rank_a, const wire::SliceHeader& a, uint32_t rank_b,
                         const wire::SliceHeader& b);

inline uint64_t block_count(const wire::SliceHeader& h, uint32_t block_bytes) {
  return (h.length + block_bytes - 1) / block_bytes;
}

// Bytes [begin, begin+bytes) of a block's buffer.
struct Part {
  uint32_t begin = 0, bytes = 0;
};

// All of block `index` of the slice.
inline Part whole_block(const wire::SliceHeader& h, uint64_t index, uint32_t block_bytes) {
  return {0, static_cast<uint32_t>(std::min<uint64_t>(block_bytes, h.length - index * block_bytes))};
}

// What rank owns of block `index`, bytes [rank*bytes_per_rank, (rank+1)*bytes_per_rank) of the concatenation:
// the part it sends in an all-gather and gets back from a reduce-scatter. begin is 0 where bytes is 0.
inline Part owned_part(const wire::SliceHeader& h, uint64_t index, uint32_t block_bytes, uint32_t rank) {
  // check_slice keeps every sum here below 2^63.
  uint64_t start = h.window_offset + h.offset + index * block_bytes;
  uint64_t end = start + whole_block(h, index, block_bytes).bytes;
  uint64_t from = std::max(start, rank * h.bytes_per_rank), to = std::min(end, (rank + 1) * h.bytes_per_rank);
  if (from >= to) return {};
  return {static_cast<uint32_t>(from - start), static_cast<uint32_t>(to - from)};
}

// What rank sends of the block.
inline Part sent_part(const wire::SliceHeader& h, uint64_t index, uint32_t block_bytes, uint32_t rank) {
  return h.coll == Coll::kAllGather ? owned_part(h, index, block_bytes, rank)
                                    : whole_block(h, index, block_bytes);
}

// What rank gets of the block's result.
inline Part result_part(const wire::SliceHeader& h, uint64_t index, uint32_t block_bytes, uint32_t rank) {
  return h.coll == Coll::kReduceScatter ? owned_part(h, index, block_bytes, rank)
                                        : whole_block(h, index, block_bytes);
}

}  // namespace fanin::reducer
