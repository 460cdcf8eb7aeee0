// One session on one lane: the ring of blocks that all its ranks' streams share, and what to do when one is
// complete.
//
// Every rank of a session sends the same slices in the same order on a lane (verified here against the rank
// that was first with each slice), so the lane-session is one sequence of blocks, numbered from 0 without
// gaps; a slice of L bytes takes ceil(L / block_bytes) of them. Each rank has a read position and a write
// position in that sequence (member.h):
//
//        written[r]        complete                read[r]      opened
//    ────────┼────────────────┼───────────────────────┼────────────┤   block number →
//            │ results r must │ r's inputs, waiting   │
//            │ still be sent  │ for the other ranks   │
//
//   window rule         read[r] < written[r] + window while r receives payload
//   complete            <= read[r] of every r: a block is reduced once every rank delivered it, in order
//   written[r]          <= complete
// From these three: opened - complete <= window, so at most nranks * window input buffers are in use, and
// complete - min(written) <= window, so at most window result buffers are: the (nranks + 1) * window of
// admission, and rings of 2 * window + 2 entries suffice. Nothing is allocated after make().
//
// What all ranks have delivered of an all-reduce's block is reduced and sent before the block is complete, whenever the
// lane has nothing else to do (pump_part): results follow inputs closely on an idle lane, in few frames on a busy one.
// A completed block is reduced in place into rank 0's buffer, the other inputs are free at once, and the
// result stays until the last rank has sent it (Block::owed). An all-gather has one buffer per block from the
// start. There are no output queues: what a rank must send is the ring between its write position and
// `complete`.
//
// abort() ends the lane-session for all ranks: each gets the rest of a frame it is in, the abort frame, and
// is closed. Lane's thread only.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "reducer/block_arena.h"
#include "reducer/kernels/reduce.h"
#include "reducer/lane_context.h"
#include "reducer/slice.h"
#include "transport/stream.h"

namespace fanin::reducer {

class Member;

// A slice between its first header and its last result.
struct Slice {
  wire::SliceHeader head;
  uint32_t described_by;  // the rank that was first; head is its
  uint64_t blocks;
  ReduceFn reduce;  // null: all-gather
};

struct Block {
  Slice* slice;
  uint64_t index;     // in the slice
  uint32_t arrived;   // ranks that delivered it
  uint32_t owed;      // ranks that have not sent its result yet
  std::byte* result;  // all-gather: from the start; else once some of it is reduced
};

class LaneSession {
 public:
  // past: of this session on this lane, see SessionTable.
  static Result<std::unique_ptr<LaneSession>> make(LaneContext& lane, Session* session,
                                                   const SessionTable::Past& past);
  ~LaneSession();

  // ---- The lane calls:
  void join(std::unique_ptr<Stream> stream, uint32_t rank);
  void check_timeouts();
  void abort(wire::AbortCode code, uint32_t rank, const std::string& text);
  bool empty() const { return members_open_ == 0; }
  // Sends what completed since the last call and lets ranks go on that waited for their window.
  void pump();
  // Reduces and sends what all ranks have delivered of the next block, if it is worth a frame. For the end of a turn.
  void pump_part();

  // ---- Members call:
  // The slice `seq` of the stream as `who` describes it; null (and the session is aborted) when that is
  // impossible or differs from what the first rank said.
  Slice* describe(Member& who, uint64_t seq, const wire::SliceHeader& head);
  // Block `pos` of the stream, block `index` of `slice`; the first rank to come opens it. Null when a rank
  // that left has not delivered it (the session is aborted).
  Block* enter(uint64_t pos, Slice* slice, uint64_t index);
  // Where rank's part of the block goes.
  std::byte* input(Block& block, uint64_t pos, uint32_t rank);
  void delivered(uint64_t pos, uint32_t rank);
  void sent(uint64_t pos);  // one rank less is owed the result
  const Block& block(uint64_t pos) const { return ring_[pos & mask_]; }
  void left(Member& who);
  void lost(Member& who, const std::string& how);
  void close(Member& who);
  void close_all();

  // What a session has done on its lane.
  LaneSessionView view() const;
  void count_in(uint64_t bytes) {
    bytes_in_ += bytes;
    count(lane_.counters.bytes_in, bytes);
  }
  void count_out(uint64_t bytes) {
    bytes_out_ += bytes;
    count(lane_.counters.bytes_out, bytes);
  }

  uint64_t complete() const { return complete_; }
  uint32_t reduced() const { return reduced_; }  // bytes of the block at complete() that are reduced already
  uint32_t window() const { return window_; }
  bool checksums() const { return sums_ != nullptr; }
  // Of the frame with the result of the complete block `pos` for rank.
  uint64_t sum_of(uint64_t pos, uint32_t rank) const {
    const bool own = block(pos).slice->head.coll == Coll::kReduceScatter;
    return sums_[(pos & mask_) * nranks_ + (own ? rank : 0)];
  }
  void damaged(uint32_t rank, const std::string& what, uint64_t sent, uint64_t arrived);
  bool aborted() const { return aborted_; }
  LaneContext& lane() { return lane_; }

 private:
  LaneSession(LaneContext& lane, Session* session, const SessionTable::Past& past, BlockArena arena);
  void finish(uint64_t pos, Block& block);
  void sum_results(uint64_t pos, const Block& block);
  LaneContext::Clock::duration standing() const;
  std::string awaited() const;
  bool end_incomplete();
  void tell_stall();
  bool end_vanished();
  void output_appears();
  void flush_all();
  void reduce(uint64_t pos, Block& block, uint32_t until);

  LaneContext& lane_;
  Session* const session_;  // dangles once the last member is closed
  const std::string name_;
  const uint32_t nranks_, window_;
  BlockArena arena_;
  uint64_t mask_ = 0;
  // Rings of mask_ + 1 entries. Not initialised: a large window costs only what is used of it.
  std::unique_ptr<Block[]> ring_;
  std::unique_ptr<std::byte*[]> inputs_;  // ring entry major, rank minor
  std::unique_ptr<uint64_t[]>
      sums_;  // with checksums: of results, as inputs_; an all-reduce's and all-gather's by rank 0
  std::unique_ptr<Slice[]> slices_;
  std::vector<const void*> gathered_;
  std::vector<std::unique_ptr<Member>> members_;  // by rank; null: not joined yet, or gone
  std::vector<uint64_t> read_;                    // per rank: blocks delivered
  uint32_t members_open_ = 0, members_left_ = 0;
  uint32_t joined_ = 0;  // ranks that came, now or before
  const LaneContext::Clock::time_point since_;
  uint64_t opened_ = 0, complete_ = 0, slices_opened_ = 0;
  uint32_t reduced_ = 0;
  uint32_t last_in_ = 0;  // the rank whose input completed what was reduced last
  uint64_t burst_ = 0;    // bytes reduced since nothing was left to do
  uint64_t bytes_in_ = 0, bytes_out_ = 0, bytes_reduced_ = 0, slices_done_ = 0;
  uint64_t left_at_ = UINT64_MAX;  // the first block some departed rank will never deliver
  uint32_t left_rank_ = 0;
  uint64_t last_message_ = 0;
  LaneContext::Clock::time_point head_since_{};  // since when the block at complete_ waits for its last ranks
  LaneContext::Clock::duration tell_at_{};       // how long the head block waits when that is told next
  bool fresh_ = false;                           // blocks completed since the last pump
  bool aborted_ = false;
  std::string abort_frame_;
};

}  // namespace fanin::reducer
