// The textbook ring as a sequence of messages: which bytes message m of one channel carries and what becomes
// of them.
//
// The data is a table of nranks rows (the ring's segments) with row_bytes columns; a channel owns a range of
// columns and walks it in loops of kSlices chunks. Within a loop every ring step sends kSlices messages, so
// that many chunks are under way at once. Message m of a rank is message m of the next rank's receives. Pure
// values.
#pragma once
#include <algorithm>
#include <cstddef>

#include "fanin/dtype.h"

namespace fanin::perf {

class RingPlan {
 public:
  static constexpr size_t kSlices = 4;  // messages of one step of one loop: chunks under way per channel
  static constexpr size_t kMaxChunkBytes = 512 << 10;
  static constexpr size_t kMinChannelBytes = 64 << 10;

  // Channels that are worth it for this size, at most `channels`.
  static size_t channels_for(Coll coll, size_t bytes, size_t nranks, size_t channels);

  RingPlan(Coll coll, size_t bytes, size_t rank, size_t nranks, size_t channel, size_t channels);

  size_t messages() const { return loops_ * steps_ * kSlices; }
  size_t chunk_bytes() const { return chunk_; }

  struct Chunk {
    size_t offset;  // in the table: row × row_bytes + column
    size_t column;  // offset within the row: where it lies in a buffer that holds one row only
    size_t bytes;   // 0: nothing to move
  };
  Chunk sent(size_t m) const { return chunk(m, step(m)); }
  Chunk received(size_t m) const { return chunk(m, step(m) + 1); }
  // Message m is this rank's own input: it waits for nothing. Any other waits for receive m - kSlices.
  bool starts_chain(size_t m) const { return step(m) == 0; }
  // What is received in m is to be reduced with this rank's input.
  bool reduces(size_t m) const { return coll_ != Coll::kAllGather && step(m) + 1 < nranks_; }
  // … and the result is final.
  bool finishes(size_t m) const { return coll_ != Coll::kAllGather && step(m) + 2 == nranks_; }
  // What is received in m is passed on as message m + kSlices.
  bool passes_on(size_t m) const { return step(m) + 1 < steps_; }
  // The columns this channel owns.
  size_t first_column() const { return begin_; }
  size_t columns() const { return end_ - begin_; }

 private:
  size_t step(size_t m) const { return m / kSlices % steps_; }
  Chunk chunk(size_t m, size_t back) const;

  Coll coll_;
  size_t bytes_, rank_, nranks_;
  size_t row_bytes_, begin_, end_, chunk_;
  size_t steps_, loops_;
};

}  // namespace fanin::perf
