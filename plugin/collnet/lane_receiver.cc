#include "plugin/collnet/lane_receiver.h"

#include <algorithm>
#include <cstring>

namespace fanin::plugin::collnet {
namespace {

constexpr int kMaxPieces = 64;  // half of them headers: 32 blocks per system call

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
  Piece pieces[kMaxPieces];
  iovec iov[kMaxPieces];
  int n = 0, n_headers = 0;
  size_t wanted = 0;
  auto add = [&](void* at, size_t bytes, bool is_header) {
    pieces[n] = {static_cast<std::byte*>(at), bytes, is_header};
    iov[n++] = {at, bytes};
    wanted += bytes;
  };
  if (header_got_ < kHeaderBytes)
    add(reinterpret_cast<std::byte*>(&header_) + header_got_, kHeaderBytes - header_got_, true);
  Position p{slice_, block_};
  for (uint64_t b = blocks_total_, end = queue_.blocks_offered(); b < end && n + 2 <= kMaxPieces;
       ++b, p = next(p)) {
    if (b != blocks_total_) add(&headers[n_headers++], kHeaderBytes, true);
    Range r = payload(p);
    if (b == blocks_total_) r.begin += payload_got_;
    if (!r.empty()) add(queue_.at(p.slice).request->op.target(r.begin), r.size(), false);
  }
  const IoResult r = stream.readv(iov, n);
  if (r.would_block()) return Outcome::kNothing;
  if (r.broken()) {
    os_error_ = r.err;
    return Outcome::kClosed;
  }
  const Outcome outcome = take(pieces, n, r.bytes);
  queue_.set_blocks_received(blocks_total_);
  return outcome == Outcome::kMoved && r.bytes < wanted ? Outcome::kDrained : outcome;
}

// Accounts for bytes that landed in the pieces.
LaneReceiver::Outcome LaneReceiver::take(const Piece* pieces, int n, size_t bytes) {
  for (int i = 0; i < n && bytes > 0; ++i) {
    const size_t got = std::min(bytes, pieces[i].bytes);
    bytes -= got;
    if (aborting_) {
      const size_t room = abort_.payload_bytes - abort_text_.size();
      abort_text_.append(reinterpret_cast<const char*>(pieces[i].at), std::min(got, room));
      continue;
    }
    if (!pieces[i].is_header) {
      payload_got_ += got;
      if (got == pieces[i].bytes) block_done();
      continue;
    }
    // Only the first piece can be the rest of a header begun earlier; later ones are gathered into header_
    // too.
    std::byte* to = reinterpret_cast<std::byte*>(&header_) + header_got_;
    if (pieces[i].at != to) memcpy(to, pieces[i].at, got);
    header_got_ += static_cast<uint32_t>(got);
    if (header_got_ < kHeaderBytes) continue;
    if (!header_done(header_)) return Outcome::kAborted;
  }
  if (aborting_ && abort_text_.size() == abort_.payload_bytes) {
    finish_abort();
    return Outcome::kAborted;
  }
  return Outcome::kMoved;
}

// False: impossible header, error_ is set. May begin an abort.
bool LaneReceiver::header_done(const wire::ResultHeader& h) {
  if (h.type == wire::FrameType::kAbort) {
    begin_abort(h);
    return true;
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
  const Range expected = payload({slice_, block_});
  if (h.message != s.request->op.message || h.payload_bytes != expected.size() ||
      (!expected.empty() && h.offset != expected.begin)) {
    broken("message " + std::to_string(h.message) + " offset " + std::to_string(h.offset) + " with " +
           std::to_string(h.payload_bytes) + " bytes where message " + std::to_string(s.request->op.message) +
           " offset " + std::to_string(expected.begin) + " with " + std::to_string(expected.size()) +
           " bytes was due");
    return false;
  }
  payload_got_ = 0;
  if (expected.empty()) block_done();
  return true;
}

void LaneReceiver::block_done() {
  const Position p = next({slice_, block_});
  slice_ = p.slice;
  block_ = p.block;
  ++blocks_total_;
  header_got_ = 0;
  payload_got_ = 0;
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
  const auto code = static_cast<wire::AbortCode>(static_cast<uint32_t>(abort_.message));
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
                                    "; are all ranks and reducers of one version?");
  return Outcome::kAborted;
}

}  // namespace fanin::plugin::collnet
