#include "perf/fanin_perf/ring_plan.h"

namespace fanin::perf {
namespace {

// Every element type divides it, and a cache line is not shared between channels.
constexpr size_t kAlign = 64;

size_t divide_up(size_t a, size_t b) { return (a + b - 1) / b; }
size_t round_up(size_t a) { return divide_up(a, kAlign) * kAlign; }

size_t row_bytes(Coll coll, size_t bytes, size_t nranks) {
  return coll == Coll::kAllReduce ? round_up(divide_up(bytes, nranks)) : bytes / nranks;
}

}  // namespace

size_t RingPlan::channels_for(Coll coll, size_t bytes, size_t nranks, size_t channels) {
  return std::clamp<size_t>(row_bytes(coll, bytes, nranks) / kMinChannelBytes, 1,
                            std::max<size_t>(channels, 1));
}

RingPlan::RingPlan(Coll coll, size_t bytes, size_t rank, size_t nranks, size_t channel, size_t channels)
    : coll_(coll), bytes_(bytes), rank_(rank), nranks_(nranks), row_bytes_(row_bytes(coll, bytes, nranks)) {
  size_t width = round_up(divide_up(row_bytes_, channels));
  begin_ = std::min(channel * width, row_bytes_);
  end_ = std::min(begin_ + width, row_bytes_);
  chunk_ = std::clamp<size_t>(round_up(divide_up(columns(), kSlices)), kAlign, kMaxChunkBytes);
  loops_ = divide_up(columns(), chunk_ * kSlices);
  steps_ = coll == Coll::kAllReduce ? 2 * (nranks - 1) : nranks - 1;
}

RingPlan::Chunk RingPlan::chunk(size_t m, size_t back) const {
  // A chain starts at its rank's own row and ends, after nranks-1 steps, one row further; a reduce-scatter
  // must end at the rank's own row, so its chains start one row before.
  size_t start = coll_ == Coll::kReduceScatter ? rank_ + nranks_ - 1 : rank_;
  size_t row = (start + 2 * nranks_ - back) % nranks_;
  size_t loop = m / (kSlices * steps_), slice = m % kSlices;
  size_t column = std::min(begin_ + (loop * kSlices + slice) * chunk_, end_);
  size_t offset = row * row_bytes_ + column;
  size_t bytes = std::min(chunk_, end_ - column);
  bytes = std::min(bytes, bytes_ - std::min(offset, bytes_));  // the last row of an all-reduce may be short
  return {offset, column, bytes};
}

}  // namespace fanin::perf
