#include "plugin/net/connector.h"

#include <poll.h>

#include <algorithm>
#include <cstring>

#include "plugin/net/proof.h"
#include "plugin/net/random.h"
#include "transport/tcp/tcp_stream.h"

namespace fanin::plugin::net {
namespace {

constexpr std::chrono::milliseconds kLongestPause{1000};
constexpr std::chrono::seconds kAbandonedAfter{60};

bool writable(int fd) {
  pollfd p{fd, POLLOUT, 0};
  return ::poll(&p, 1, 0) == 1;
}

// A link-local target's zone is the peer's own name for the link; ours is the device's.
tcp::Address with_zone_of(const tcp::Address& target, const tcp::Address& source) {
  if (target.family() != AF_INET6 || source.family() != AF_INET6) return target;
  sockaddr_in6 to;
  memcpy(&to, target.sa(), sizeof to);
  if (IN6_IS_ADDR_LINKLOCAL(&to.sin6_addr))
    to.sin6_scope_id = reinterpret_cast<const sockaddr_in6*>(source.sa())->sin6_scope_id;
  return tcp::Address(reinterpret_cast<sockaddr*>(&to), sizeof to);
}

}  // namespace

Connector::Connector(const Plan& plan)
    : target_(with_zone_of(plan.target, plan.source)),
      source_(plan.source),
      sockets_(static_cast<size_t>(plan.data_sockets) + 1),
      timeout_(plan.timeout),
      secret_(plan.secret),
      keepalive_(plan.keepalive),
      patience_(plan.patience),
      deadline_(Deadline::after(plan.timeout)),
      abandoned_(Deadline::after(plan.timeout + kAbandonedAfter)) {
  uint64_t connection = random_u64();
  for (size_t i = 0; i < sockets_.size(); i++) {
    Hello& h = sockets_[i].greeting.hello;
    h.index = static_cast<uint16_t>(i);
    h.count = static_cast<uint16_t>(sockets_.size());
    h.nonce = plan.nonce;
    h.connection = connection;
    h.proved = secret_ ? 1 : 0;
  }
}

Result<std::unique_ptr<SendComm>> Connector::progress() {
  for (Socket& s : sockets_) {
    if (!s.fd && !s.stream && s.retry.passed())
      if (Status st = start(s); !st) return st.error();
    if (s.fd && writable(s.fd.get()))
      if (Status st = finish(s); !st) return st.error();
    if (s.fd && s.patience.passed()) again(s, "no answer; check routes and firewalls, or NCCL_SOCKET_IFNAME");
    if (s.stream && !ready(s)) greet(s);
  }
  if (std::all_of(sockets_.begin(), sockets_.end(), [&](const Socket& s) { return ready(s); })) {
    std::vector<std::unique_ptr<Stream>> streams;
    for (Socket& s : sockets_) streams.push_back(std::move(s.stream));
    return std::make_unique<SendComm>(std::move(streams), answer_, keepalive_);
  }
  if (!deadline_.passed()) return std::unique_ptr<SendComm>();
  return Error(Errc::kRemote,
               "cannot connect to " + target_.text() + " from " + source_.host() + " within " +
                   std::to_string(timeout_.count()) + " ms: " +
                   (last_reason_.empty() ? "no answer; check routes and firewalls, or NCCL_SOCKET_IFNAME"
                                         : last_reason_));
}

Status Connector::start(Socket& s) {
  Result<Fd> fd = tcp::start_connect(target_, source_);
  s.patience = Deadline::after(patience_);
  if (fd)
    s.fd = std::move(*fd);
  else if (fd.error().code() == Errc::kRemote)
    again(s, fd.error().text());
  else
    return fd.error();
  return {};
}

Status Connector::finish(Socket& s) {
  tcp::ConnectOutcome outcome = tcp::finish_connect(s.fd.get());
  if (outcome.err != 0) {
    Error e = system_error("cannot connect to " + target_.text(), outcome.err, Errc::kRemote);
    if (!outcome.retry) return e;
    again(s, e.text());
    return {};
  }
  if (Status st = tcp::tune(s.fd.get(), keepalive_); !st) return st;
  if (secret_)
    if (Status st = prove(s); !st) return st;
  s.stream = std::make_unique<tcp::TcpStream>(std::move(s.fd));
  return {};
}

// Anew for every attempt: the proof is for one TCP connection.
Status Connector::prove(Socket& s) {
  Result<tcp::Address> local = tcp::local_address(s.fd.get());
  if (!local) return local.error();
  Result<wire::Nonce> nonce = fresh_nonce();
  if (!nonce) return nonce.error();
  const Ends ends{target_, *local};
  s.greeting.proof = {*nonce, sender_proof(*secret_, s.greeting.hello, *nonce, ends)};
  if (s.greeting.hello.index == 0) answer_ = receiver_proof(*secret_, s.greeting.hello, *nonce, ends);
  return {};
}

void Connector::greet(Socket& s) {
  iovec iov{reinterpret_cast<char*>(&s.greeting) + s.sent, greeting_bytes() - s.sent};
  IoResult r = s.stream->writev(&iov, 1);
  if (r.moved()) s.sent += r.bytes;
  if (r.broken()) again(s, system_error("cannot connect to " + target_.text(), r.err).text());
}

void Connector::again(Socket& s, std::string why) {
  last_reason_ = std::move(why);
  s.fd.reset();
  s.stream.reset();
  s.sent = 0;
  s.retry = Deadline::after(s.pause);
  s.pause = std::min(s.pause * 2, kLongestPause);
}

}  // namespace fanin::plugin::net
