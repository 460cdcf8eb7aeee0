#include "perf/ideal_ring/ring.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "transport/deadline.h"
#include "transport/tcp/socket.h"

namespace fanin::perf {
namespace {

constexpr std::chrono::seconds kPatience{60};

Status wait_for(int fd, short events, Deadline deadline) {
  for (;;) {
    pollfd p{fd, events, 0};
    if (::poll(&p, 1, deadline.poll_ms()) > 0) return {};
    if (deadline.passed()) return Error(Errc::kRemote, "a neighbour in the ring does not answer");
  }
}

Result<Fd> connect_to(const tcp::Address& to, Deadline deadline) {
  Result<Fd> fd = tcp::start_connect(to);
  if (!fd) return fd.error();
  if (Status s = wait_for(fd->get(), POLLOUT, deadline); !s) return s.error();
  if (int err = tcp::finish_connect(fd->get()).err; err != 0)
    return system_error("connect " + to.text(), err, Errc::kRemote);
  return fd;
}

Result<Fd> accept_one(const Fd& listener, Deadline deadline) {
  for (;;) {
    if (Status s = wait_for(listener.get(), POLLIN, deadline); !s) return s.error();
    Result<Fd> fd = tcp::accept_from(listener.get());
    if (!fd || *fd) return fd;
  }
}

}  // namespace

Result<std::unique_ptr<Peer>> IdealRing::make(const PeerOptions& o, Group& group) {
  const auto own = tcp::Address::numeric(o.host, 0);
  if (!own) return Error(Errc::kInvalidUsage, "--host " + o.host + " is not a numeric address");
  Result<Fd> listener = tcp::listen_on(*own);
  if (!listener) return listener.error();
  Result<tcp::Address> at = tcp::local_address(listener->get());
  if (!at) return at.error();
  std::string mine = at->text();
  mine.resize(64, '\0');
  auto all = group.all_gather(mine);
  if (!all) return all.error();
  auto to = tcp::parse_host_port((*all)[static_cast<size_t>((o.rank + 1) % o.nranks)].c_str());
  if (!to) return to.error();
  const Deadline deadline = Deadline::after(kPatience);
  Result<Fd> next = connect_to(*tcp::Address::numeric(to->host, to->port), deadline);
  if (!next) return next.error();
  Result<Fd> previous = accept_one(*listener, deadline);
  if (!previous) return previous.error();
  for (const Fd* fd : {&*next, &*previous})
    if (Status s = tcp::tune(fd->get()); !s) return s.error();
  return std::unique_ptr<Peer>(new IdealRing(static_cast<size_t>(o.rank), static_cast<size_t>(o.nranks),
                                             std::move(*next), std::move(*previous)));
}

// The stream a rank sends is 2(n-1) segments of count/n floats, each the one before in index: in the first n-1 steps
// partial sums, then results. What it receives is the previous rank's stream.
struct IdealRing::Piece {
  size_t step;
  size_t offset, length;  // floats within the buffer; the tail of a short last segment has length 0
  size_t stream;          // floats of the stream this piece stands for
};

IdealRing::Piece IdealRing::piece(size_t at, size_t count, size_t first_segment) const {
  const size_t segment = (count + nranks_ - 1) / nranks_;
  const size_t step = at / segment, within = at % segment;
  const size_t index = (first_segment + 2 * nranks_ - step) % nranks_;
  const size_t begin = std::min(index * segment + within, count),
               end = std::min((index + 1) * segment, count);
  return {step, begin, end - begin, segment - within};
}

Result<size_t> IdealRing::send_some(const float* in, const float* out, size_t count, size_t sent,
                                    size_t may_send) {
  // sent and may_send in bytes of the stream.
  const size_t at = sent / sizeof(float), skip = sent % sizeof(float);
  const Piece p = piece(at, count, rank_);
  if (p.length == 0) return std::min(p.stream * sizeof(float), may_send);  // padding: nobody sends it
  const float* from = p.step == 0 ? in : out;
  const size_t bytes = std::min(p.length * sizeof(float) - skip, may_send);
  const ssize_t n = ::send(next_.get(), reinterpret_cast<const char*>(from + p.offset) + skip, bytes,
                           MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n >= 0) return static_cast<size_t>(n);
  if (errno == EAGAIN || errno == EINTR) return size_t{0};
  return system_error("send", errno, Errc::kRemote);
}

Result<size_t> IdealRing::receive_some(const float* in, float* out, size_t count, size_t received) {
  const size_t at = received / sizeof(float);
  const Piece p = piece(at, count, (rank_ + nranks_ - 1) % nranks_);
  if (p.length == 0) return p.stream * sizeof(float);
  const bool sums = p.step < nranks_ - 1;
  // Sums are made from the scratch buffer, which fits the cache; results go where they belong.
  char* to = reinterpret_cast<char*>(sums ? scratch_.data() : out + p.offset);
  const size_t room = std::min(p.length * sizeof(float), sums ? scratch_.size() * sizeof(float) : SIZE_MAX);
  const ssize_t n = ::recv(previous_.get(), to + partial_, room - partial_, MSG_DONTWAIT);
  if (n == 0) return Error(Errc::kRemote, "the previous rank is gone");
  if (n < 0) {
    if (errno == EAGAIN || errno == EINTR) return size_t{0};
    return system_error("recv", errno, Errc::kRemote);
  }
  const size_t have = partial_ + static_cast<size_t>(n), whole = have / sizeof(float);
  if (sums)
    for (size_t i = 0; i < whole; i++) out[p.offset + i] = in[p.offset + i] + scratch_[i];
  partial_ = have % sizeof(float);
  // The beginning of a float that is not all there yet: kept where the next read continues.
  if (sums && partial_ > 0) memmove(scratch_.data(), scratch_.data() + whole, partial_);
  return whole * sizeof(float);
}

Status IdealRing::all_reduce(const float* in, float* out, size_t count) {
  const size_t segment = (count + nranks_ - 1) / nranks_ * sizeof(float);
  const size_t total = segment * 2 * (nranks_ - 1);
  size_t sent = 0, received = 0;  // bytes of the two streams, received ones summed
  Deadline deadline = Deadline::after(kPatience);
  while (sent < total || received < total) {
    const size_t may_send = std::min(total, segment + received) - sent;
    bool moved = false;
    if (may_send > 0) {
      auto n = send_some(in, out, count, sent, may_send);
      if (!n) return n.error();
      sent += *n, moved = *n > 0;
    }
    if (received < total) {
      const size_t partial = partial_;
      auto n = receive_some(in, out, count, received);
      if (!n) return n.error();
      received += *n, moved = moved || *n > 0 || partial != partial_;
    }
    if (moved) continue;
    const bool wants_out = std::min(total, segment + received) > sent;
    pollfd fds[2] = {{previous_.get(), static_cast<short>(received < total ? POLLIN : 0), 0},
                     {next_.get(), static_cast<short>(wants_out ? POLLOUT : 0), 0}};
    const int ready = ::poll(fds, 2, deadline.poll_ms());
    if (ready > 0) deadline = Deadline::after(kPatience);
    if (ready == 0 && deadline.passed()) return Error(Errc::kRemote, "nothing moves in the ring");
  }
  return {};
}

}  // namespace fanin::perf
