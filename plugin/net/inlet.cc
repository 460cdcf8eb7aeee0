#include "plugin/net/inlet.h"

#include <algorithm>
#include <cstring>

namespace fanin::plugin::net {
namespace {
constexpr size_t kBudget = 1 << 20;
}

Status Inlet::progress(Postings& postings) {
  size_t budget = kBudget;
  while (!ended_) {
    iovec iov[2] = {{to_, left_}, {ahead_.data() + fill_, kAhead - fill_}};
    size_t asked = left_ + kAhead - fill_;
    IoResult r = left_ ? stream_->readv(iov, 2) : stream_->readv(iov + 1, 1);
    if (r.would_block()) return {};
    if (r.kind == IoResult::Kind::kFailed)
      return system_error("lost peer " + stream_->peer() + " while receiving from it", r.err, Errc::kRemote);
    if (r.kind == IoResult::Kind::kClosed) {
      if (left_ || fill_)
        return Error(Errc::kRemote,
                     "peer " + stream_->peer() + " closed the connection in the middle of a message");
      ended_ = true;
      return {};
    }
    size_t placed = std::min(left_, r.bytes);
    if (placed) {
      to_ += placed;
      left_ -= placed;
      postings.arrived(*part_, placed);
    }
    fill_ += r.bytes - placed;
    if (Status s = take_apart(postings); !s) return s;
    // A short read emptied the socket: another would only say so.
    if (r.bytes < asked || r.bytes >= budget) return {};
    budget -= r.bytes;
  }
  return {};
}

Status Inlet::take_apart(Postings& postings) {
  size_t at = 0;
  while (left_ == 0 && fill_ - at >= sizeof(Chunk)) {
    Chunk c;
    memcpy(&c, ahead_.data() + at, sizeof c);
    at += sizeof c;
    Result<Part*> part = postings.claim(c, stream_->peer());
    if (!part) return part.error();
    part_ = *part;
    size_t here = std::min<size_t>(c.length, fill_ - at);
    if (here) {
      memcpy(part_->data + c.offset, ahead_.data() + at, here);
      postings.arrived(*part_, here);
    }
    at += here;
    to_ = part_->data + c.offset + here;
    left_ = c.length - here;
  }
  fill_ -= at;
  if (at && fill_) memmove(ahead_.data(), ahead_.data() + at, fill_);
  return {};
}

}  // namespace fanin::plugin::net
