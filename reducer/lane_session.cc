#include "reducer/lane_session.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <new>

#include "fanin/checksum.h"
#include "reducer/member.h"

namespace fanin::reducer {
namespace {

// The least worth a frame of its own before its block is complete: little while a session has just begun, so that its ranks
// have something to receive soon, and growing, for fewer system calls.
constexpr uint32_t kLeastPart = 1 << 10, kMostPart = 8 << 10;
constexpr uint32_t kPartAlign = 64;  // whole elements of every type

std::string rank_text(uint32_t rank) { return "rank " + std::to_string(rank); }

std::string abort_bytes(wire::AbortCode code, uint32_t rank, std::string_view text, bool sum) {
  text = text.substr(0, wire::kMaxText);
  wire::ResultHeader h{};
  h.type = wire::FrameType::kAbort;
  h.payload_bytes = static_cast<uint32_t>(text.size());
  h.message = static_cast<uint64_t>(code) | uint64_t{rank} << 32;
  if (sum) h.reserved = frame_sum(h, text.data(), text.size());
  return std::string(reinterpret_cast<const char*>(&h), sizeof h).append(text);
}

}  // namespace

Result<std::unique_ptr<LaneSession>> LaneSession::make(LaneContext& lane, Session* session,
                                                       const SessionTable::Past& past) {
  BlockArena arena = std::move(session->arenas[lane.index]);
  if (!arena.made()) {  // all members of this lane had left, and one more came
    Result<BlockArena> again =
        BlockArena::make((size_t{session->nranks} + 1) * session->window_blocks, lane.config.block_bytes);
    if (!again) return again.error();
    arena = *std::move(again);
  }
  if (const LanePlace* place = lane.place(); place && place->node >= 0) arena.prefer_node(place->node);
  try {
    return std::unique_ptr<LaneSession>(new LaneSession(lane, session, past, std::move(arena)));
  } catch (const std::bad_alloc&) {
    return system_error("state of a session of " + std::to_string(session->nranks) + " ranks", ENOMEM);
  }
}

LaneSession::LaneSession(LaneContext& lane, Session* session, const SessionTable::Past& past,
                         BlockArena arena)
    : lane_(lane),
      session_(session),
      name_(session->name),
      nranks_(session->nranks),
      window_(session->window_blocks),
      arena_(std::move(arena)),
      members_(session->nranks),
      read_(session->nranks),
      since_(lane.now),
      tell_at_(lane.config.stall) {
  // Blocks and slices that are alive span less than 2 * window; a header may be one slice ahead of them.
  size_t entries = std::bit_ceil(size_t{2} * window_ + 2);
  mask_ = entries - 1;
  ring_ = std::make_unique_for_overwrite<Block[]>(entries);
  slices_ = std::make_unique_for_overwrite<Slice[]>(entries);
  inputs_ = std::make_unique_for_overwrite<std::byte*[]>(entries * nranks_);
  if (session->checksums) sums_ = std::make_unique_for_overwrite<uint64_t[]>(entries * nranks_);
  gathered_.resize(nranks_);
  members_left_ = joined_ = past.left;
  if (past.left > 0) left_at_ = 0, left_rank_ = past.left_rank;
}

LaneSession::~LaneSession() { close_all(); }

void LaneSession::join(std::unique_ptr<Stream> stream, uint32_t rank) {
  lane_.thread.check();
  members_[rank] = std::make_unique<Member>(*this, std::move(stream), rank);
  ++members_open_;
  ++joined_;
  Member& m = *members_[rank];
  if (Status s = m.watch(); !s) return lost(m, s.error().text());
  if (aborted_) m.begin_abort(abort_frame_);
}

Slice* LaneSession::describe(Member& who, uint64_t seq, const wire::SliceHeader& head) {
  if (Status s = check_slice(head, nranks_); !s) {
    abort(wire::AbortCode::kProtocol, who.rank(), rank_text(who.rank()) + " sent " + s.error().text());
    return nullptr;
  }
  Slice& slice = slices_[seq & mask_];
  if (seq == slices_opened_) {
    if (head.message < last_message_) {
      abort(wire::AbortCode::kProtocol, who.rank(),
            rank_text(who.rank()) + " sent message " + std::to_string(head.message) + " after message " +
                std::to_string(last_message_));
      return nullptr;
    }
    last_message_ = head.message;
    slice.head = head;
    slice.described_by = who.rank();
    slice.blocks = block_count(head, lane_.config.block_bytes);
    slice.reduce = head.coll == Coll::kAllGather ? nullptr : reduce_fn(head.dtype, head.op);
    ++slices_opened_;
  } else if (!same_slice(head, slice.head)) {
    abort(wire::AbortCode::kDisagreement, who.rank(),
          disagreement(who.rank(), head, slice.described_by, slice.head));
    return nullptr;
  }
  return &slice;
}

Block* LaneSession::enter(uint64_t pos, Slice* slice, uint64_t index) {
  if (pos >= left_at_) {
    abort(wire::AbortCode::kRankLeft, left_rank_,
          rank_text(left_rank_) + " left the session before message " + std::to_string(slice->head.message) +
              ", which other ranks have sent");
    return nullptr;
  }
  Block& b = ring_[pos & mask_];
  if (pos == opened_) {
    if (opened_ == complete_) burst_ = 0;
    b = {slice, index, 0, 0, nullptr};
    std::fill_n(&inputs_[(pos & mask_) * nranks_], nranks_, nullptr);
    ++opened_;
  }
  return &b;
}

std::byte* LaneSession::input(Block& block, uint64_t pos, uint32_t rank) {
  std::byte*& at = block.slice->reduce ? inputs_[(pos & mask_) * nranks_ + rank] : block.result;
  if (!at) at = arena_.take();
  return at;
}

void LaneSession::delivered(uint64_t pos, uint32_t rank) {
  lane_.thread.check();
  read_[rank] = pos + 1;
  if (++ring_[pos & mask_].arrived == 1 && pos == complete_) head_since_ = lane_.now;
  while (complete_ < opened_ && ring_[complete_ & mask_].arrived == nranks_) {
    finish(complete_, ring_[complete_ & mask_]);
    ++complete_;
    last_in_ = rank;
    head_since_ = lane_.now;
    fresh_ = true;
  }
}

// The bytes of the block from reduced_ on.
void LaneSession::reduce(uint64_t pos, Block& block, uint32_t until) {
  const Slice& slice = *block.slice;
  std::byte** in = &inputs_[(pos & mask_) * nranks_];
  for (uint32_t r = 0; r < nranks_; ++r) gathered_[r] = in[r] + reduced_;
  slice.reduce(in[0] + reduced_, gathered_.data(), nranks_,
               (until - reduced_) / dtype_size(slice.head.dtype));
  block.result = in[0];
  count(lane_.counters.bytes_reduced, until - reduced_);
  bytes_reduced_ += until - reduced_;
  burst_ += until - reduced_;
  reduced_ = until;
}

// The clock of those that had nothing to send until now starts.
void LaneSession::output_appears() {
  for (auto& m : members_)
    if (m && !m->has_output()) m->last_write = lane_.now;
}

void LaneSession::finish(uint64_t pos, Block& block) {
  const Slice& slice = *block.slice;
  output_appears();
  if (slice.reduce) {
    reduce(pos, block, whole_block(slice.head, block.index, lane_.config.block_bytes).bytes);
    for (uint32_t r = 1; r < nranks_; ++r) arena_.give(inputs_[(pos & mask_) * nranks_ + r]);
  }
  reduced_ = 0;
  block.owed = members_open_;
  if (block.owed == 0)
    arena_.give(block.result);
  else if (sums_)
    sum_results(pos, block);
  if (block.index + 1 == slice.blocks) {
    ++slices_done_;
    count(lane_.counters.slices, 1);
  }
}

// Once per block, not per rank or write.
void LaneSession::sum_results(uint64_t pos, const Block& block) {
  const wire::SliceHeader& head = block.slice->head;
  const uint32_t size = lane_.config.block_bytes;
  for (uint32_t r = 0; r < (head.coll == Coll::kReduceScatter ? nranks_ : 1); ++r) {
    const Part part = result_part(head, block.index, size, r);
    const wire::ResultHeader h{wire::FrameType::kResult,
                               0,
                               {},
                               part.bytes,
                               head.message,
                               head.offset + block.index * size + part.begin,
                               0};
    sums_[(pos & mask_) * nranks_ + r] = frame_sum(h, block.result + part.begin, part.bytes);
  }
}

void LaneSession::damaged(uint32_t rank, const std::string& what, uint64_t sent, uint64_t arrived) {
  const std::string peer = members_[rank] ? " (" + members_[rank]->peer() + ")" : "";
  abort(wire::AbortCode::kDamaged, rank,
        "what " + rank_text(rank) + peer + " sent to lane " + std::to_string(lane_.index) +
            " arrived damaged: " + what + ", " + sums_text(sent, arrived));
}

void LaneSession::pump_part() {
  if (aborted_ || sums_ || complete_ == opened_) return;
  Block& head = ring_[complete_ & mask_];
  if (head.slice->head.coll != Coll::kAllReduce) return;
  const auto part = static_cast<uint32_t>(std::clamp<uint64_t>(burst_ / 32, kLeastPart, kMostPart));
  uint32_t until = UINT32_MAX;
  for (uint32_t r = 0; r < nranks_ && until >= reduced_ + part; ++r) {
    if (read_[r] > complete_) continue;
    const uint32_t has = members_[r] ? members_[r]->delivered_of(complete_) : 0;
    if (has < until) until = has, last_in_ = r;
  }
  until -= until % kPartAlign;
  if (until < reduced_ + part) return;
  output_appears();
  reduce(complete_, head, until);
  flush_all();
}

void LaneSession::sent(uint64_t pos) {
  Block& b = ring_[pos & mask_];
  if (--b.owed == 0) arena_.give(b.result);
}

// Beginning with the rank that was waited for last: workers begin with different lanes, so that is another one on each
// reducer, and their results do not all meet at one worker's link while the others' are idle.
void LaneSession::flush_all() {
  for (uint32_t i = 0, r = last_in_; i < nranks_; ++i, r = r + 1 < nranks_ ? r + 1 : 0)
    if (Member* m = members_[r].get(); m && m->has_output() && !m->writable_awaited()) m->flush();
}

void LaneSession::pump() {
  while (fresh_ && !aborted_) {
    fresh_ = false;
    flush_all();
    // What was sent opened windows; going on may complete blocks.
    for (auto& m : members_)
      if (m && m->stalled()) m->resume();
  }
}

void LaneSession::left(Member& who) {
  uint32_t rank = who.rank();
  uint64_t at = read_[rank];
  for (uint64_t p = who.written(); p < complete_; ++p) sent(p);  // nobody waits for these any more
  ++members_left_;
  if (at < left_at_) left_at_ = at, left_rank_ = rank;
  bool needed = opened_ > at;
  Breakage why{wire::AbortCode::kRankLeft, rank, ""};
  if (needed) {
    why.text = rank_text(rank) + " left the session before message " +
               std::to_string(ring_[at & mask_].slice->head.message) + ", which other ranks have sent";
    why = lane_.table.mark_broken(session_, why);
  }
  close(who);
  if (needed) abort(why.code, why.rank, why.text);
}

void LaneSession::lost(Member& who, const std::string& how) {
  if (aborted_) return close(who);
  bool others = members_left_ + 1 < nranks_;
  Breakage why{wire::AbortCode::kRankLost, who.rank(),
               rank_text(who.rank()) + " (" + who.peer() + ") is gone: " + how};
  if (others) why = lane_.table.mark_broken(session_, why);
  close(who);
  if (others) abort(why.code, why.rank, why.text);
}

void LaneSession::abort(wire::AbortCode code, uint32_t rank, const std::string& text) {
  if (aborted_) return;
  aborted_ = true;
  count(lane_.counters.aborted, 1);
  Breakage why{code, rank, text};
  if (members_open_ > 0) why = lane_.table.mark_broken(session_, std::move(why));  // else the caller has
  lane_.log("session " + name_ + " aborted on lane " + std::to_string(lane_.index) + ": " + why.text);
  abort_frame_ = abort_bytes(why.code, why.rank, why.text, checksums());
  for (size_t r = 0; r < members_.size(); ++r)
    if (members_[r]) members_[r]->begin_abort(abort_frame_);
}

void LaneSession::close(Member& who) {
  lane_.thread.check();
  who.detach();
  uint32_t rank = who.rank();
  lane_.closed.push_back(std::move(members_[rank]));
  --members_open_;
  if (lane_.table.leave(session_, lane_.index, rank)) lane_.log("session " + name_ + " ended");
}

void LaneSession::close_all() {
  for (size_t r = 0; r < members_.size(); ++r)
    if (members_[r]) close(*members_[r]);
}

// For how long some ranks have waited for others; zero when none do.
LaneContext::Clock::duration LaneSession::standing() const {
  if (complete_ == opened_ || ring_[complete_ & mask_].arrived == 0) return {};
  return lane_.now - head_since_;
}

// Whom the block at complete_ waits for: "rank 3 (10.0.0.7:41234), rank 5 (not connected) and 2 more".
std::string LaneSession::awaited() const {
  constexpr uint32_t kNamed = 4;
  std::string out;
  uint32_t n = 0;
  for (uint32_t r = 0; r < nranks_; ++r) {
    if (read_[r] > complete_ || n++ >= kNamed) continue;
    const Member* m = members_[r].get();
    out += (n == 1 ? "" : ", ") + rank_text(r) + " (" +
           (!m ? "not connected" : m->peer() + (m->has_output() ? ", takes no results" : "")) + ")";
  }
  return n > kNamed ? out + " and " + std::to_string(n - kNamed) + " more" : out;
}

LaneSessionView LaneSession::view() const {
  LaneSessionView v;
  v.lane = lane_.index;
  v.connections = members_open_;
  v.bytes_in = bytes_in_;
  v.bytes_out = bytes_out_;
  v.bytes_reduced = bytes_reduced_;
  v.slices = slices_done_;
  v.message = last_message_;
  v.blocks_waiting = opened_ - complete_;
  v.waited = aborted_ ? LaneContext::Clock::duration{} : standing();
  if (v.waited.count() > 0) v.awaited = awaited();
  return v;
}

// Tells the ranks that wait, and the log, whom they wait for.
void LaneSession::tell_stall() {
  using std::chrono::milliseconds;
  const auto first = lane_.config.stall;
  const auto waited = standing();
  if (first.count() == 0 || waited < first) {
    tell_at_ = first;
    return;
  }
  if (waited < tell_at_) return;
  while (tell_at_ <= waited) tell_at_ *= 2;
  const std::string whom =
      awaited() + " in message " + std::to_string(ring_[complete_ & mask_].slice->head.message);
  if (lane_.table.tell_stall(session_, lane_.now, waited))
    lane_.log("session " + name_ + " has been waiting " +
              std::to_string(std::chrono::duration_cast<std::chrono::seconds>(waited).count()) + " s for " +
              whom + ", on lane " + std::to_string(lane_.index));
  wire::ResultHeader h{};
  h.type = wire::FrameType::kWaiting;
  const std::string_view text = std::string_view(whom).substr(0, wire::kMaxText);
  h.payload_bytes = static_cast<uint32_t>(text.size());
  h.message = ring_[complete_ & mask_].slice->head.message;
  h.offset = static_cast<uint64_t>(std::chrono::duration_cast<milliseconds>(waited).count());
  if (sums_) h.reserved = frame_sum(h, text.data(), text.size());
  const std::string frame = std::string(reinterpret_cast<const char*>(&h), sizeof h).append(text);
  for (uint32_t r = 0; r < nranks_ && !aborted_; ++r)
    if (members_[r] && read_[r] > complete_) members_[r]->notify(frame);
}

// A rank whose host is gone: keep-alive tells of an idle connection, this of one with data on its way. True: the session
// is over.
bool LaneSession::end_vanished() {
  const auto quiet = std::min(lane_.config.keepalive / 4, std::chrono::milliseconds(1000));
  for (auto& m : members_) {
    if (!m || lane_.now - m->last_read < quiet) continue;
    if (read_[m->rank()] > complete_ && !m->has_output()) continue;  // nothing is expected of it
    if (standing() < quiet && lane_.now - m->last_write < quiet) continue;
    const auto unanswered = m->unanswered();
    if (unanswered < lane_.config.keepalive) continue;
    lost(*m, "its host has answered nothing for " + std::to_string(unanswered.count()) + " ms");
    return true;
  }
  return false;
}

// Ranks that never come: workers give up by themselves (FANIN_CONNECT_TIMEOUT_MS) unless they hang, or are none.
bool LaneSession::end_incomplete() {
  const auto limit = lane_.config.join_timeout;
  if (joined_ == nranks_ || limit.count() == 0 || lane_.now - since_ < limit) return false;
  const std::vector<uint32_t> absent = lane_.table.absent(session_, lane_.index);
  if (absent.empty()) return false;  // the last one is on its way from the acceptor
  constexpr size_t kNamed = 8;
  std::string who, there;
  for (size_t i = 0; i < std::min(absent.size(), kNamed); ++i)
    who += (i == 0 ? "" : ", ") + rank_text(absent[i]);
  if (absent.size() > kNamed) who += " and " + std::to_string(absent.size() - kNamed) + " more";
  for (auto& m : members_)
    if (m && there.empty()) there = "; " + rank_text(m->rank()) + " (" + m->peer() + ") has waited for them";
  abort(wire::AbortCode::kTimeout, absent.front(),
        who + " of " + std::to_string(nranks_) + (absent.size() == 1 ? " has" : " have") +
            " not joined for " + std::to_string(limit.count()) + " ms (--join-timeout-ms)" + there);
  return true;
}

void LaneSession::check_timeouts() {
  lane_.thread.check();
  if (empty()) return;  // its last rank left in this turn, and session_ dangles
  if (aborted_) {
    for (size_t r = 0; r < members_.size(); ++r)
      if (members_[r] && lane_.now >= members_[r]->end_by) close(*members_[r]);
    return;
  }
  if (end_vanished() || end_incomplete()) return;
  tell_stall();
  auto limit = lane_.config.timeout;
  if (limit.count() == 0) return;
  std::string for_so_long = " for " + std::to_string(limit.count()) + " ms";
  if (standing() >= limit) {
    const Block& head = ring_[complete_ & mask_];
    std::string waiting =
        " while other ranks wait for it in message " + std::to_string(head.slice->head.message);
    for (uint32_t r = 0; r < nranks_; ++r) {
      if (read_[r] > complete_) continue;
      const Member* m = members_[r].get();
      if (m && lane_.now - m->last_read < limit) continue;
      return abort(wire::AbortCode::kTimeout, r,
                   m ? rank_text(r) + " (" + m->peer() + ") was silent" + for_so_long + waiting
                     : rank_text(r) + " has not joined" + for_so_long + waiting);
    }
  }
  for (auto& m : members_)
    if (m && m->has_output() && lane_.now - m->last_write >= limit)
      return abort(wire::AbortCode::kTimeout, m->rank(),
                   rank_text(m->rank()) + " (" + m->peer() + ") has not taken its results" + for_so_long);
}

}  // namespace fanin::reducer
