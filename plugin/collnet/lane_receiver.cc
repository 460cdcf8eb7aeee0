#include "plugin/collnet/lane_receiver.h"

#include <algorithm>
#include <cstring>

#include "fanin/checksum.h"

namespace fanin::plugin::collnet {
namespace {

constexpr int kMaxPieces = 64;  // half of them headers: 32 blocks per system call
constexpr size_t kAside = 16 << 10;

const char* describe(wire::AbortCode code) {
  switch (code) {
    case wire::AbortCode::kRankLost:
      return "was lost";
    case wire::AbortCode::kDisagreement:
      return "disagrees with the others";
    case wire::AbortCode::kProtocol:
      return "broke the protocol";
    case wire::AbortCode::kRankLeft:
      return "left while others needed it";
    case wire::AbortCode::kShutdown:
      return "the reducer was told to exit";
    case wire::AbortCode::kInternal:
      return "the reducer failed";
    case wire::AbortCode::kTimeout:
      return "was silent for too long";
    case wire::AbortCode::kDamaged:
      return "sent or received damaged bytes";
  }
  return "unknown reason";
}

}  // namespace

Range LaneReceiver::payload(Position p) const {
  const Slice& s = queue_.at(p.slice);
  return s.request->op.receives(s.block(p.block, block_bytes_));
}

LaneReceiver::Position LaneReceiver::next(Position p) const {
  if (p.block + 1 < queue_.at(p.slice).blocks(block_bytes_)) return {p.slice, p.block + 1};
  return {p.slice + 1, 0};
}

LaneReceiver::Outcome LaneReceiver::read_some(Stream& stream) {
  if (aborting_) return read_abort_text(stream);
  wire::ResultHeader headers[kMaxPieces];  // results may be empty: as many headers as pieces
  char notice[wire::kMaxText];
  std::byte aside[kAside];
  iovec iov[kMaxPieces];
  int n = 0, n_headers = 0;
  size_t wanted = 0;
  auto add = [&](void* at, size_t bytes) {
    iov[n++] = {at, bytes};
    wanted += bytes;
  };
  if (notice_left_ > 0) add(notice, notice_left_);
  const bool headed = header_got_ == kHeaderBytes;
  if (!headed) add(reinterpret_cast<std::byte*>(&header_) + header_got_, kHeaderBytes - header_got_);
  Position p{slice_, block_};
  uint64_t got = block_got_ + payload_got_;  // of the block at p
  const uint64_t end = queue_.blocks_sent();
  // The rest of this frame; the rest of its block comes with another header.
  if (headed && end <= blocks_total_)
    add(queue_.at(p.slice).request->op.target(payload(p).begin + got), header_.payload_bytes - payload_got_);
  for (uint64_t b = blocks_total_; b < end && n + 3 <= kMaxPieces; ++b, p = next(p), got = 0) {
    if (b != blocks_total_) add(&headers[n_headers++], kHeaderBytes);
    const Range r = payload(p);
    if (r.size() > got) add(queue_.at(p.slice).request->op.target(r.begin + got), r.size() - got);
  }
  if (n < kMaxPieces) add(aside, kAside);
  const IoResult r = stream.readv(iov, n);
  if (r.would_block()) return Outcome::kNothing;
  if (r.broken()) {
    os_error_ = r.err;
    return Outcome::kClosed;
  }
  const Outcome outcome = take(iov, n, r.bytes);
  queue_.set_blocks_received(blocks_total_);
  if (outcome == Outcome::kAborted && abort_code_ == wire::AbortCode::kDamaged)
    error_ = error_.in("from " + stream.peer());
  return outcome == Outcome::kMoved && r.bytes < wanted ? Outcome::kDrained : outcome;
}

// Goes through bytes that landed in the pieces and moves those that belong elsewhere: to an earlier place, always.
LaneReceiver::Outcome LaneReceiver::take(const iovec* pieces, int n, size_t bytes) {
  const bool was_damaged = damaged_;
  for (int i = 0; i < n && bytes > 0; ++i) {
    const auto* from = static_cast<const std::byte*>(pieces[i].iov_base);
    size_t left = std::min(bytes, pieces[i].iov_len);
    bytes -= left;
    for (size_t here; left > 0; from += here, left -= here) {
      if (aborting_) {
        here = left;
        const size_t room = abort_.payload_bytes - abort_text_.size();
        abort_text_.append(reinterpret_cast<const char*>(from), std::min(here, room));
      } else if (notice_left_ > 0) {
        here = std::min<size_t>(left, notice_left_);
        notice_.append(reinterpret_cast<const char*>(from), here);
        notice_left_ -= static_cast<uint32_t>(here);
        if (notice_left_ == 0 && !intact(notice_head_, notice_.data(), "a notice")) return Outcome::kAborted;
      } else if (header_got_ < kHeaderBytes) {
        here = std::min<size_t>(left, kHeaderBytes - header_got_);
        std::byte* to = reinterpret_cast<std::byte*>(&header_) + header_got_;
        if (from != to) memcpy(to, from, here);
        header_got_ += static_cast<uint32_t>(here);
        if (header_got_ == kHeaderBytes && !header_done(header_)) return Outcome::kAborted;
      } else {
        here = std::min<size_t>(left, header_.payload_bytes - payload_got_);
        std::byte* to = queue_.at(slice_).request->op.target(header_.offset + payload_got_);
        if (from != to) memmove(to, from, here);
        payload_got_ += here;
        if (payload_got_ == header_.payload_bytes) frame_done();
      }
    }
  }
  if (aborting_ && abort_text_.size() == abort_.payload_bytes) {
    finish_abort();
    return Outcome::kAborted;
  }
  return damaged_ && !was_damaged ? Outcome::kAborted : Outcome::kMoved;
}

// Whom the reducer waits for, once it has been said in full.
bool LaneReceiver::take_notice(std::string* text) {
  if (notice_.empty() || notice_left_ > 0) return false;
  for (char& c : notice_)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';  // it goes into a log line
  text->swap(notice_);
  notice_.clear();
  return true;
}

// False: impossible header, error_ is set. May begin an abort.
bool LaneReceiver::header_done(const wire::ResultHeader& h) {
  if (h.type == wire::FrameType::kAbort) {
    begin_abort(h);
    return true;
  }
  if (h.type == wire::FrameType::kWaiting && h.payload_bytes <= wire::kMaxText) {
    header_got_ = 0;
    notice_.clear();
    notice_head_ = h;  // the next header may land in header_ with the rest of the text
    notice_left_ = h.payload_bytes;
    return notice_left_ > 0 || intact(h, nullptr, "a notice");
  }
  if (h.type != wire::FrameType::kResult) {
    broken("frame type " + std::to_string(static_cast<unsigned>(h.type)));
    return false;
  }
  if (blocks_total_ >= queue_.blocks_offered()) {
    broken("a result of message " + std::to_string(h.message) + " that nobody asked for");
    return false;
  }
  const Slice& s = queue_.at(slice_);
  Range expected = payload({slice_, block_});
  expected.begin += block_got_;
  // Only an all-reduce's blocks are divided.
  const bool fits = h.more && s.request->op.coll == Coll::kAllReduce
                        ? h.payload_bytes > 0 && h.payload_bytes < expected.size()
                        : !h.more && h.payload_bytes == expected.size();
  if (h.message != s.request->op.message || !fits || (!expected.empty() && h.offset != expected.begin)) {
    broken("message " + std::to_string(h.message) + " offset " + std::to_string(h.offset) + " with " +
           std::to_string(h.payload_bytes) + " bytes where message " + std::to_string(s.request->op.message) +
           " offset " + std::to_string(expected.begin) + " with " + std::to_string(expected.size()) +
           " bytes was due");
    return false;
  }
  if (expected.empty()) frame_done();
  return true;
}

void LaneReceiver::frame_done() {
  const Slice& s = queue_.at(slice_);
  const void* at = checksums_ && header_.payload_bytes > 0 ? s.request->op.target(header_.offset) : nullptr;
  if (!damaged_ && !intact(header_, at, "a result")) damaged_ = true;
  block_got_ += header_.payload_bytes;
  header_got_ = 0;
  payload_got_ = 0;
  if (block_got_ < payload({slice_, block_}).size()) return;
  const Position p = next({slice_, block_});
  slice_ = p.slice;
  block_ = p.block;
  block_got_ = 0;
  ++blocks_total_;
}

bool LaneReceiver::intact(const wire::ResultHeader& h, const void* at, const char* what) {
  if (!checksums_) return true;
  const uint64_t sum = frame_sum(h, at, h.payload_bytes);
  if (sum == h.reserved) return true;
  abort_code_ = wire::AbortCode::kDamaged;
  error_ = Error(Errc::kRemote, std::string(what) + " arrived damaged: message " + std::to_string(h.message) +
                                    ", " + std::to_string(h.payload_bytes) + " bytes at offset " +
                                    std::to_string(h.offset) + ", " + sums_text(h.reserved, sum));
  return false;
}

void LaneReceiver::begin_abort(const wire::ResultHeader& h) {
  aborting_ = true;
  abort_ = h;
  abort_.payload_bytes = std::min(abort_.payload_bytes, wire::kMaxText);
}

LaneReceiver::Outcome LaneReceiver::read_abort_text(Stream& stream) {
  char text[wire::kMaxText];
  const iovec iov{text, abort_.payload_bytes - abort_text_.size()};
  const IoResult r = stream.readv(&iov, 1);
  if (r.would_block()) return Outcome::kNothing;
  if (r.moved()) abort_text_.append(text, r.bytes);
  if (r.moved() && abort_text_.size() < abort_.payload_bytes) return Outcome::kMoved;
  finish_abort();  // also when the connection ended amid the text
  return Outcome::kAborted;
}

void LaneReceiver::finish_abort() {
  if (abort_text_.size() == abort_.payload_bytes &&
      !intact(abort_, abort_text_.data(), "the end of the session"))
    return;
  const auto code = static_cast<wire::AbortCode>(static_cast<uint32_t>(abort_.message));
  if (code >= wire::AbortCode::kRankLost && static_cast<uint32_t>(code) < wire::kNumAbortCodes)
    abort_code_ = code;
  const auto about = static_cast<uint32_t>(abort_.message >> 32);
  std::string text = abort_text_;
  const std::string who = about == wire::kNoRank ? "" : "rank " + std::to_string(about);
  if (text.empty())
    text = (who.empty() ? "" : who + " ") + describe(code);
  else if (text.find(who) == std::string::npos)
    text = who + ": " + text;
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';  // it goes into a log line
  error_ = Error(Errc::kRemote, "ended the session: " + text);
}

LaneReceiver::Outcome LaneReceiver::broken(std::string what) {
  error_ = Error(Errc::kRemote, "broke the protocol: sent " + std::move(what) +
                                    (checksums_ ? "; or it was damaged on its way"
                                                : "; are all ranks and reducers of one version?"));
  return Outcome::kAborted;
}

}  // namespace fanin::plugin::collnet
