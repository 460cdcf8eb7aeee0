#include "plugin/net/send_comm.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "fanin/secret.h"
#include "transport/tcp/socket.h"

namespace fanin::plugin::net {
namespace {

// Several sockets: small enough to spread a message, large enough that a call per chunk does not matter. One
// socket: only the frame's length field and the latency of what waits behind limit it.
constexpr size_t kMinChunk = 64 << 10;
constexpr size_t kMaxChunk = 256 << 10;
constexpr size_t kMaxLoneChunk = 4 << 20;

// With several sockets: how much the kernel takes beyond what it could send at once. What a slow path accepts
// early arrives late; with one socket there is no better place, and more is better.
constexpr int kMaxUnsent = 256 << 10;

// On one host. A smaller buffer would be faster still, but callers may test their receives alone for a while, and what the kernel has
// not taken by then is sent by nobody.
constexpr int kSameHostBuffer = 512 << 10;

size_t chunk_size(size_t bytes, size_t outlets) {
  if (outlets == 1) return kMaxLoneChunk;
  size_t even = (bytes / outlets + 4095) & ~size_t{4095};
  return std::clamp(even, kMinChunk, kMaxChunk);
}

}  // namespace

Result<bool> SendRequest::test(size_t* sizes) { return comm->test(*this, sizes); }

SendComm::SendComm(std::vector<std::unique_ptr<Stream>> streams, const std::optional<wire::Proof>& answer,
                   std::chrono::milliseconds silence)
    : control_(std::move(streams[0])), answer_(answer), silence_(silence) {
  guards_.emplace_back(control_->fd());
  for (size_t i = 1; i < streams.size(); i++) {
    guards_.emplace_back(streams[i]->fd());
    // An optimisation: where it is refused, sends are only less well spread.
    if (streams.size() > 2)
      ::setsockopt(streams[i]->fd(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kMaxUnsent, sizeof kMaxUnsent);
    tcp::keep_in_cache(streams[i]->fd(), kSameHostBuffer, kSameHostBuffer);
    outlets_.emplace_back(std::move(streams[i]));
  }
  for (SendRequest& r : requests_) r.comm = this;
}

SendComm::~SendComm() {
  for (Outlet& o : outlets_) ::shutdown(o.stream().fd(), SHUT_WR);
  ::shutdown(control_->fd(), SHUT_WR);
}

Result<Request*> SendComm::isend(const void* data, size_t bytes, int tag) {
  if (failed_) return *failed_;
  if (peer_left_)
    return fail(
        Error(Errc::kRemote, "peer " + control_->peer() + " closed the connection; it receives no more"));
  auto r = std::find_if(requests_.begin(), requests_.end(),
                        [](const SendRequest& s) { return s.state == SendRequest::State::kFree; });
  if (r == requests_.end()) return nullptr;
  r->state = SendRequest::State::kQueued;
  r->data = static_cast<const char*>(data);
  r->bytes = bytes;
  r->tag = tag;
  r->fits = true;
  r->loaded = 0;
  r->under_way = 0;
  order_[static_cast<size_t>(waiting_++)] = &*r;
  unfinished_++;
  if (Status s = progress(); !s) return s.error();
  return &*r;
}

Result<bool> SendComm::test(SendRequest& r, size_t* sizes) {
  if (r.state == SendRequest::State::kFree)
    return Error(Errc::kInvalidArgument, "test of a send that is already done");
  if (r.state != SendRequest::State::kDone) {
    Status s = progress();
    if (r.state != SendRequest::State::kDone) {
      if (!s) return s.error();
      return false;
    }
  }
  if (sizes) *sizes = r.bytes;
  r.state = SendRequest::State::kFree;
  return true;
}

Status SendComm::progress() {
  if (failed_) return *failed_;
  auto queued = [&] {
    return std::any_of(order_.begin(), order_.begin() + waiting_,
                       [](const SendRequest* r) { return r->state == SendRequest::State::kQueued; });
  };
  match();
  bool asked = queued();
  if (asked) {
    if (Status s = read_credits(); !s) return s;
    match();
  }
  if (Status s = write_chunks(); !s) return s;
  if (unfinished_ == 0) return {};
  // Blocked or without credit: the moment to see whether the peer is still there.
  if (!asked && !peer_left_)
    if (Status s = read_credits(); !s) return s;
  if (peer_left_)
    return fail(Error(Errc::kRemote, "peer " + control_->peer() + " closed the connection with " +
                                         std::to_string(unfinished_) + " sends to it outstanding"));
  return silence_.time_to_look() ? check_silence() : Status();
}

// Keep-alive watches the idle sockets; with data on its way a vanished host is noticed only here.
Status SendComm::check_silence() {
  for (Outlet& o : outlets_)
    if (silence_.too_long(o.stream())) return fail(silence_.error(o.stream()));
  return {};
}

// Reads what is there and files it in grants_.
Status SendComm::read_credits() {
  if (peer_left_) return {};
  iovec iov{input_.data() + input_fill_, input_.size() - input_fill_};
  IoResult r = control_->readv(&iov, 1);
  if (r.would_block()) return {};
  if (r.kind == IoResult::Kind::kFailed)
    return fail(system_error("lost peer " + control_->peer(), r.err, Errc::kRemote));
  if (r.kind == IoResult::Kind::kClosed) {
    peer_left_ = true;
    return {};
  }
  input_fill_ += r.bytes;
  size_t at = 0;
  if (answer_) {
    wire::Proof said;
    if (input_fill_ < sizeof said) return {};
    memcpy(said.data(), input_.data(), sizeof said);
    if (!equal(said, *answer_))
      return fail(
          Error(Errc::kRemote, "peer " + control_->peer() +
                                   " did not prove that it knows the job's secret; it may be a stranger"));
    answer_.reset();
    at = sizeof said;
  }
  while (input_fill_ - at >= sizeof(Credit)) {
    Credit credit;
    memcpy(&credit, input_.data() + at, sizeof credit);
    size_t parts_bytes = credit.parts * sizeof(CreditPart);
    bool good = Grants::valid(credit);
    if (good && input_fill_ - at - sizeof credit < parts_bytes) break;
    if (good) {
      std::array<CreditPart, kMaxGroupedReceives> parts;
      memcpy(parts.data(), input_.data() + at + sizeof credit, parts_bytes);
      good = grants_.add(credit, parts.data());
    }
    if (!good)
      return fail(Error(Errc::kRemote, "peer " + control_->peer() + " broke the protocol: credit for slot " +
                                           std::to_string(credit.slot) + " with " +
                                           std::to_string(credit.parts) + " parts"));
    at += sizeof credit + parts_bytes;
  }
  memmove(input_.data(), input_.data() + at, input_fill_ - at);
  input_fill_ -= at;
  return {};
}

void SendComm::match() {
  for (int i = 0; i < waiting_; i++) {
    SendRequest& r = *order_[static_cast<size_t>(i)];
    if (r.state != SendRequest::State::kQueued) continue;
    std::optional<Grant> g = grants_.take(r.tag);
    if (!g) continue;
    r.grant = *g;
    r.fits = r.bytes <= g->bytes;
    r.state = SendRequest::State::kSending;
  }
}

Status SendComm::write_chunks() {
  uint32_t blocked = 0;  // outlets that took less than they were given in this call
  for (size_t i = 0; i < outlets_.size(); i++) {
    if (outlets_[i].idle()) continue;
    if (Status s = push(outlets_[i]); !s) return s;
    if (!outlets_[i].idle()) blocked |= 1u << i;
  }
  for (int i = 0; i < waiting_;) {
    SendRequest& r = *order_[static_cast<size_t>(i)];
    if (r.state != SendRequest::State::kSending) {
      i++;
      continue;
    }
    Outlet* o = freest_idle(blocked);
    if (!o) return {};
    load(*o, r);
    if (!r.fits || r.loaded == r.bytes) {
      std::copy(order_.begin() + i + 1, order_.begin() + waiting_, order_.begin() + i);
      waiting_--;
    }
    if (Status s = push(*o); !s) return s;
    if (!o->idle()) blocked |= 1u << (o - outlets_.data());
  }
  return {};
}

Outlet* SendComm::freest_idle(uint32_t blocked) {
  Outlet* best = nullptr;
  size_t least = 0, n = outlets_.size();
  for (size_t k = 0; k < n; k++) {
    size_t i = next_outlet_ + k < n ? next_outlet_ + k : next_outlet_ + k - n;
    if (!outlets_[i].idle() || (blocked >> i & 1)) continue;
    size_t backlog = n > 1 ? outlets_[i].backlog() : 0;
    if (best && backlog >= least) continue;
    best = &outlets_[i];
    least = backlog;
    if (least == 0) break;
  }
  if (best) next_outlet_ = (static_cast<size_t>(best - outlets_.data()) + 1) % n;
  return best;
}

void SendComm::load(Outlet& outlet, SendRequest& r) {
  Chunk c;
  c.offset = r.loaded;
  c.total = r.bytes;
  c.length =
      r.fits ? static_cast<uint32_t>(std::min(chunk_size(r.bytes, outlets_.size()), r.bytes - r.loaded)) : 0;
  c.sequence = r.grant.sequence;
  c.slot = r.grant.slot;
  c.part = r.grant.part;
  outlet.load(c, r.data + r.loaded, &r);
  r.loaded += c.length;
  r.under_way++;
}

Status SendComm::push(Outlet& outlet) {
  SendRequest& r = *outlet.owner();
  IoResult io;
  bool out = outlet.push(&io);
  if (io.broken())
    return fail(
        system_error("lost peer " + control_->peer() + " while sending to it", io.err, Errc::kRemote));
  if (!out) return {};
  r.under_way--;
  if (!r.fits)
    return fail(Error(Errc::kInvalidUsage,
                      "a send of " + std::to_string(r.bytes) + " bytes with tag " + std::to_string(r.tag) +
                          " does not fit the receive of " + std::to_string(r.grant.bytes) + " bytes that " +
                          control_->peer() + " posted; make both sides use one count and type"));
  if (r.loaded == r.bytes && r.under_way == 0) {
    r.state = SendRequest::State::kDone;
    unfinished_--;
  }
  return {};
}

Error SendComm::fail(Error e) {
  failed_ = std::move(e);
  return *failed_;
}

}  // namespace fanin::plugin::net
