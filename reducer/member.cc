#include "reducer/member.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "fanin/checksum.h"

namespace fanin::reducer {
namespace {

constexpr int kReadBlocks = 16;          // blocks one readv fills
constexpr size_t kReadBudget = 1 << 20;  // bytes read from one connection before the others get their turn
constexpr int kWriteFrames = 32;         // results one writev gathers
constexpr std::chrono::milliseconds kEnding{5000};

}  // namespace

Member::Member(LaneSession& session, std::unique_ptr<Stream> stream, uint32_t rank)
    : last_read(session.lane().now),
      last_write(session.lane().now),
      session_(session),
      stream_(std::move(stream)),
      rank_(rank),
      sums_(session.checksums() ? std::make_unique<uint64_t[]>(kSums) : nullptr),
      ahead_(std::make_unique_for_overwrite<std::byte[]>(kAhead)) {}

size_t Member::block_bytes() const { return session_.lane().config.block_bytes; }

Status Member::watch() {
  interest_ = EPOLLIN;
  return session_.lane().epoll.add(stream_->fd(), interest_, this);
}

void Member::update_interest() {
  // Where the window waits for nothing from this rank, bytes may lie unread; only their end is of interest.
  uint32_t in = EPOLLIN;
  if (stalled_ && stalled_empty_ && !ending_) in = deaf_ ? 0u : uint32_t{EPOLLRDHUP};
  uint32_t want = in | (want_out_ ? uint32_t{EPOLLOUT} : 0u);
  if (want == interest_ || closed_ || departed_) return;
  interest_ = want;
  if (Status s = session_.lane().epoll.modify(stream_->fd(), want, this); !s)
    session_.lost(*this, s.error().text());
}

void Member::detach() {
  closed_ = true;
  session_.lane().epoll.remove(stream_->fd());
}

void Member::on_event(uint32_t events) {
  session_.lane().thread.check();
  if (events & EPOLLOUT) {
    flush();
    if (!closed_ && stalled_) resume();
  }
  if (closed_ || !(events & ~uint32_t{EPOLLOUT})) return;
  if (ending_)
    discard();
  else if (stalled_)
    read_stalled();
  else
    read_some();
}

// ---- Reading

void Member::read_some() {
  size_t budget = kReadBudget;
  while (!closed_ && !ending_ && !stalled_ && read_once(&budget)) {
  }
}

// True when the socket may hold more and the budget allows it.
bool Member::read_once(size_t* budget) {
  iovec iov[kReadBlocks + 4];
  int n = 0;
  size_t asked = 0;
  auto add = [&](void* p, size_t bytes) {
    iov[n++] = {p, bytes};
    asked += bytes;
  };
  auto add_part = [&](std::byte* into, size_t bytes, uint64_t pos, size_t got) {
    if (got < bytes) add(into + got, bytes - got);
    if (!sums_ || bytes == 0) return;
    const size_t have = got > bytes ? got - bytes : 0;
    add(sum_place(pos) + have, wire::kSumBytes - have);
  };
  bool header = phase_ == Phase::kHeader;
  if (phase_ == Phase::kText) add(text_.data() + have_, text_.size() - have_);
  if (phase_ == Phase::kPayload) {
    add_part(into_, part_.bytes, pos_, got_);
    uint64_t i = index_ + 1, p = pos_ + 1;
    for (; i < slice_->blocks && n < kReadBlocks && p < written_ + session_.window(); ++i, ++p) {
      Block* b = session_.enter(p, slice_, i);
      if (!b) return false;
      Part part = sent_part(slice_->head, i, static_cast<uint32_t>(block_bytes()), rank_);
      if (part.bytes > 0) add_part(session_.input(*b, p, rank_) + part.begin, part.bytes, p, 0);
    }
    header = i == slice_->blocks;
  }
  if (header) {
    size_t have = phase_ == Phase::kHeader ? have_ : 0;
    add(reinterpret_cast<std::byte*>(&header_) + have, sizeof header_ - have);
    if (read_ahead_) add(ahead_.get(), kAhead);
  }
  IoResult r = stream_->readv(iov, n);
  if (r.would_block()) return false;
  if (r.kind == IoResult::Kind::kClosed) {
    session_.lost(*this, "it closed its connection without goodbye");
    return false;
  }
  if (r.broken()) {
    session_.lost(*this, strerror(r.err));
    return false;
  }
  last_read = session_.lane().now;
  consume(r.bytes);
  if (!closed_ && !ending_) feed_ahead();
  *budget -= std::min(*budget, r.bytes);
  return r.bytes == asked && *budget > 0;
}

// Moves the state over bytes that readv has put where read_once said.
void Member::consume(size_t bytes) {
  uint64_t payload = 0;
  while (bytes > 0 && !closed_ && !ending_) {
    if (phase_ == Phase::kPayload) {
      size_t take = std::min<size_t>(bytes, need_ - got_);
      got_ += take;
      bytes -= take;
      payload += take;
      advance();
    } else if (phase_ == Phase::kHeader) {
      size_t take = std::min(bytes, sizeof header_ - have_);
      have_ += take;
      bytes -= take;
      if (have_ < sizeof header_) break;
      ahead_begin_ = 0;
      ahead_end_ = bytes;
      bytes = 0;
      on_header();
    } else {
      have_ += bytes;
      bytes = 0;
      if (have_ == text_.size()) on_text();
    }
  }
  session_.count_in(payload);
}

// The same for bytes in ahead_, which are copied to where they belong.
void Member::feed_ahead() {
  uint64_t payload = 0;
  while (ahead_begin_ < ahead_end_ && !closed_ && !ending_) {
    const std::byte* from = ahead_.get() + ahead_begin_;
    size_t avail = ahead_end_ - ahead_begin_;
    if (phase_ == Phase::kPayload) {
      if (stalled_) {
        if (!stalled_empty_)
          protocol_error("overran its window of " + std::to_string(session_.window()) + " blocks");
        break;
      }
      const bool in_sum = got_ >= part_.bytes;
      size_t take = std::min<size_t>(avail, (in_sum ? need_ : part_.bytes) - got_);
      memcpy(in_sum ? sum_place(pos_) + (got_ - part_.bytes) : into_ + got_, from, take);
      got_ += take;
      ahead_begin_ += take;
      payload += take;
      advance();
    } else if (phase_ == Phase::kHeader) {
      size_t take = std::min(avail, sizeof header_ - have_);
      memcpy(reinterpret_cast<std::byte*>(&header_) + have_, from, take);
      have_ += take;
      ahead_begin_ += take;
      if (have_ == sizeof header_) on_header();
    } else {
      size_t take = std::min(avail, text_.size() - have_);
      memcpy(text_.data() + have_, from, take);
      have_ += take;
      ahead_begin_ += take;
      if (have_ == text_.size()) on_text();
    }
  }
  session_.count_in(payload);
}

void Member::on_header() {
  have_ = 0;
  if (sums_) {
    head_sum_ = header_sum(header_);
    if (head_sum_ != header_.reserved)
      return session_.damaged(rank_, "a header of 64 bytes", header_.reserved, head_sum_);
    header_.reserved = 0;
  }
  switch (header_.type) {
    case wire::FrameType::kSlice:
      return next_slice();
    case wire::FrameType::kGoodbye:
      return session_.left(*this);
    case wire::FrameType::kAbort:
      if (header_.text_bytes > wire::kMaxText) return protocol_error("sent an abort with an endless text");
      text_.resize(header_.text_bytes);
      phase_ = Phase::kText;
      if (text_.empty()) on_text();
      return;
    default:
      return protocol_error("sent an unknown frame, type " + std::to_string(static_cast<int>(header_.type)));
  }
}

void Member::on_text() {
  for (char& c : text_)
    if (static_cast<unsigned char>(c) < 32 || c == 127) c = '?';  // it goes to logs
  uint64_t code = header_.message;
  bool known = code >= 1 && code < wire::kNumAbortCodes;
  session_.abort(known ? static_cast<wire::AbortCode>(code) : wire::AbortCode::kInternal, rank_,
                 "rank " + std::to_string(rank_) + " (" + peer() + ") gave up: " + text_);
}

void Member::next_slice() {
  slice_ = session_.describe(*this, slices_, header_);
  if (!slice_) return;
  ++slices_;
  phase_ = Phase::kPayload;
  index_ = 0;
  entered_ = false;
  read_ahead_ = header_.length <= kAhead;  // messages tend to be followed by their like
  advance();
}

// Goes on to the block that needs the next byte; over blocks that need none.
void Member::advance() {
  while (phase_ == Phase::kPayload) {
    if (!entered_) {
      uint32_t size = static_cast<uint32_t>(block_bytes());
      part_ = sent_part(slice_->head, index_, size, rank_);
      if (pos_ >= written_ + session_.window()) {
        stalled_ = true;
        stalled_empty_ = part_.bytes == 0;
        return update_interest();
      }
      Block* b = session_.enter(pos_, slice_, index_);
      if (!b) return;
      if (part_.bytes > 0) into_ = session_.input(*b, pos_, rank_) + part_.begin;
      got_ = 0;
      need_ = part_.bytes + (sums_ && part_.bytes > 0 ? wire::kSumBytes : 0);
      entered_ = true;
    }
    if (got_ < need_ || (sums_ && !intact())) return;
    entered_ = false;
    session_.delivered(pos_++, rank_);
    if (++index_ == slice_->blocks) phase_ = Phase::kHeader;
  }
}

// Whether the current block's part is as it was sent; else the session is aborted.
bool Member::intact() {
  if (part_.bytes == 0) return true;
  const wire::SliceHeader& h = slice_->head;
  const uint64_t at = h.offset + index_ * block_bytes() + part_.begin;
  const uint64_t sum = part_sum(head_sum_, at, into_, part_.bytes), sent = sums_[pos_ % kSums];
  if (sum == sent) return true;
  session_.damaged(rank_,
                   "message " + std::to_string(h.message) + ", " + std::to_string(part_.bytes) +
                       " bytes at offset " + std::to_string(at),
                   sent, sum);
  return false;
}

void Member::resume() {
  if (!stalled_ || ending_ || pos_ >= written_ + session_.window()) return;
  stalled_ = deaf_ = false;
  advance();
  if (!closed_ && !ending_) feed_ahead();
  update_interest();
}

// The window is full: anything but silence is either the end or too much.
void Member::read_stalled() {
  if (stalled_empty_) return read_last_words();
  std::byte one;
  iovec iov{&one, 1};
  IoResult r = stream_->readv(&iov, 1);
  if (r.moved())
    return protocol_error("overran its window of " + std::to_string(session_.window()) + " blocks");
  if (r.broken()) session_.lost(*this, r.err ? strerror(r.err) : "it closed its connection without goodbye");
}

// The rank ended its side, or the connection broke, while its stream stands still for the window. What it sent
// before says which: headers of slices it owns nothing of, and at the end a goodbye, an abort, or neither.
void Member::read_last_words() {
  ahead_end_ -= ahead_begin_;
  memmove(ahead_.get(), ahead_.get() + ahead_begin_, ahead_end_);
  ahead_begin_ = 0;
  int err = 0;
  auto gone = [&] { session_.lost(*this, err ? strerror(err) : "it closed its connection without goodbye"); };
  for (;;) {
    if (ahead_end_ == kAhead) {
      if (deaf_) return session_.lost(*this, "its connection broke");  // no other event comes to the deaf
      deaf_ = true;
      return update_interest();
    }
    iovec iov{ahead_.get() + ahead_end_, kAhead - ahead_end_};
    IoResult r = stream_->readv(&iov, 1);
    if (r.would_block()) return;
    if (r.broken()) {  // reset, too: a rank that leaves does not read the results it no longer needs
      err = r.err;
      break;
    }
    ahead_end_ += r.bytes;
  }
  wire::SliceHeader h{};
  size_t at = 0;
  do {
    if (ahead_end_ - at < sizeof h) return gone();
    memcpy(&h, ahead_.get() + at, sizeof h);
    at += sizeof h;
  } while (h.type == wire::FrameType::kSlice);
  if (h.type == wire::FrameType::kGoodbye) {
    departed_ = true;
    session_.lane().epoll.remove(stream_->fd());  // it may hang up as it likes
    flush();
    return resume();
  }
  // An abort is not to wait for its turn; feed it alone.
  ahead_begin_ = at - sizeof h;
  stalled_ = false;
  phase_ = Phase::kHeader;
  have_ = 0;
  feed_ahead();
  if (!closed_ && !ending_) gone();
}

// A rank that said goodbye and hung up takes no results: what it said last may not have been read yet.
void Member::write_failed(const std::string& how) {
  if (!ending_ && stalled_ && stalled_empty_)
    read_last_words();
  else if (!ending_ && !stalled_)
    read_some();
  if (!closed_ && (ending_ || !departed_)) session_.lost(*this, how);
}

void Member::protocol_error(const std::string& what) {
  session_.abort(wire::AbortCode::kProtocol, rank_,
                 "rank " + std::to_string(rank_) + " (" + peer() + ") " + what);
}

// After an abort: read to the peer's end, so that closing does not reset the connection under the abort
// frame.
void Member::discard() {
  std::byte sink[16384];
  iovec iov{sink, sizeof sink};
  for (int i = 0; i < 16; ++i) {
    IoResult r = stream_->readv(&iov, 1);
    if (r.would_block()) return;
    if (r.broken()) return session_.close(*this);
  }
}

// ---- Writing

void Member::flush() {
  session_.lane().thread.check();
  if (departed_ && !ending_) {
    for (; written_ < session_.complete(); ++written_) session_.sent(written_);
    out_off_ = 0;
    out_begin_ = 0;
    return;
  }
  const uint32_t size = static_cast<uint32_t>(block_bytes());
  while (!closed_) {
    if (!notice_.empty() && out_off_ == 0) {
      if (notice_off_ == 0 && ending_) {
        notice_.clear();
        continue;
      }
      iovec rest{notice_.data() + notice_off_, notice_.size() - notice_off_};
      IoResult r = stream_->writev(&rest, 1);
      if (r.would_block()) {
        want_out_ = true;
        return update_interest();
      }
      if (r.broken()) return write_failed(r.err ? strerror(r.err) : "its connection is closed");
      notice_off_ += r.bytes;
      if (notice_off_ == notice_.size()) notice_.clear();
      continue;
    }
    iovec iov[2 * kWriteFrames + 1];
    wire::ResultHeader headers[kWriteFrames];
    int n = 0, frames = 0;
    size_t skip = out_off_;
    auto add = [&](const void* p, size_t bytes) {
      if (skip >= bytes) {
        skip -= bytes;
      } else {
        iov[n++] = {const_cast<char*>(static_cast<const char*>(p)) + skip, bytes - skip};
        skip = 0;
      }
    };
    // When ending, only a frame that was begun is ended.
    const int most = !ending_ ? kWriteFrames : out_off_ > 0 ? 1 : 0;
    uint64_t p = written_;
    uint32_t begin = out_begin_;
    for (; frames < most &&
           (p < session_.complete() || (p == session_.complete() && begin < session_.reduced()));
         ++frames) {
      const Block& b = session_.block(p);
      const wire::SliceHeader& h = b.slice->head;
      const bool whole = p < session_.complete();
      const Part part = whole ? result_part(h, b.index, size, rank_) : Part{0, session_.reduced()};
      // The frame that was begun keeps its size, though more may be there by now.
      const uint32_t bytes = frames == 0 && out_off_ > 0 ? out_bytes_ : part.bytes - begin;
      const uint64_t at = h.offset + b.index * size + part.begin + begin;
      const bool ends_block = whole && begin + bytes == part.bytes;
      headers[frames] = {wire::FrameType::kResult, !ends_block, {}, bytes, h.message, at, 0};
      if (sums_) headers[frames].reserved = session_.sum_of(p, rank_);
      add(&headers[frames], sizeof headers[frames]);
      add(b.result + part.begin + begin, bytes);
      begin += bytes;
      if (ends_block) ++p, begin = 0;
    }
    if (ending_ && tail_off_ < tail_.size()) iov[n++] = {tail_.data() + tail_off_, tail_.size() - tail_off_};
    if (n == 0) break;
    IoResult r = stream_->writev(iov, n);
    if (r.would_block()) {
      want_out_ = true;
      return update_interest();
    }
    if (r.broken()) return write_failed(r.err ? strerror(r.err) : "its connection is closed");
    last_write = session_.lane().now;
    size_t bytes = r.bytes;
    uint64_t payload = 0;
    for (int f = 0; f < frames && bytes > 0; ++f) {
      size_t frame = sizeof headers[f] + headers[f].payload_bytes;
      size_t take = std::min(bytes, frame - out_off_);
      bytes -= take;
      out_off_ += take;
      out_bytes_ = headers[f].payload_bytes;
      if (out_off_ < frame) break;
      out_off_ = 0;
      out_begin_ += headers[f].payload_bytes;
      payload += headers[f].payload_bytes;
      if (headers[f].more) continue;
      out_begin_ = 0;
      if (!session_.aborted()) session_.sent(written_);
      ++written_;
    }
    tail_off_ += bytes;
    session_.count_out(payload);
  }
  if (closed_) return;
  if (ending_ && !shut_) {
    shut_ = true;
    if (::shutdown(stream_->fd(), SHUT_WR) != 0) return session_.close(*this);
  }
  want_out_ = false;
  update_interest();
}

void Member::notify(const std::string& frame) {
  if (closed_ || ending_ || departed_ || !notice_.empty()) return;
  notice_ = frame;
  notice_off_ = 0;
  if (!want_out_) flush();
}

void Member::begin_abort(const std::string& frame) {
  if (ending_ || closed_) return;
  ending_ = true;
  phase_ = Phase::kDiscard;
  tail_ = frame;
  end_by = session_.lane().now + kEnding;
  if (want_out_)
    update_interest();
  else
    flush();
}

}  // namespace fanin::reducer
