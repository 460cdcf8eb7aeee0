#include "plugin/net/listen_comm.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <mutex>
#include <utility>

#include "plugin/listen.h"
#include "plugin/log.h"
#include "plugin/net/proof.h"
#include "plugin/net/random.h"
#include "transport/tcp/tcp_stream.h"

namespace fanin::plugin::net {
namespace {

constexpr int kMaxTakenPerCall = 64;

bool peer_gone(const Stream& s) {
  char byte;
  ssize_t n = ::recv(s.fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

// At most one line a minute of the process: whoever knocks, again and again, does not fill the log.
void warn_of(const Stream& s, const std::string& why) {
  static std::mutex mutex;
  static std::optional<Deadline> next;
  static unsigned held_back = 0;
  unsigned more = 0;
  {
    std::lock_guard lock(mutex);
    if (next && !next->passed()) {
      held_back++;
      return;
    }
    next = Deadline::after(std::chrono::minutes(1));
    more = std::exchange(held_back, 0);
  }
  FANIN_WARN("dropped a point-to-point connection from %s: %s (%u more since the last such line)",
             s.peer().c_str(), why.c_str(), more);
}

}  // namespace

Result<std::unique_ptr<ListenComm>> ListenComm::open(const tcp::Address& at,
                                                     std::chrono::milliseconds hello_timeout,
                                                     const std::optional<Secret>& secret,
                                                     std::chrono::milliseconds keepalive,
                                                     const std::optional<tcp::PortRange>& ports,
                                                     std::chrono::milliseconds patience) {
  Result<Fd> fd = listen_for_workers(at, ports);
  if (!fd) return fd.error();
  Result<tcp::Address> address = tcp::local_address(fd->get());
  if (!address) return address.error();
  return std::unique_ptr<ListenComm>(
      new ListenComm(std::move(*fd), *address, hello_timeout, secret, keepalive, patience));
}

ListenComm::ListenComm(Fd fd, tcp::Address address, std::chrono::milliseconds hello_timeout,
                       const std::optional<Secret>& secret, std::chrono::milliseconds keepalive,
                       std::chrono::milliseconds patience)
    : fd_(std::move(fd)),
      address_(address),
      nonce_(random_u64()),
      hello_timeout_(hello_timeout),
      secret_(secret),
      keepalive_(keepalive),
      patience_(patience) {}

Result<std::unique_ptr<RecvComm>> ListenComm::accept() {
  auto first_whole = [&] {
    return std::find_if(groups_.begin(), groups_.end(), [](const Group& g) { return g.whole(); });
  };
  auto g = first_whole();
  if (g == groups_.end()) {
    if (Status s = take_newcomers(); !s) return s.error();
    hear_newcomers();
    g = first_whole();
  }
  if (g == groups_.end()) {
    drop_broken_groups();
    if (give_up_ && give_up_->passed()) return nobody_came();
    if (!give_up_ && patience_.count() > 0) give_up_ = Deadline::after(patience_);
    return std::unique_ptr<RecvComm>();
  }
  give_up_.reset();
  Group whole = std::move(*g);
  groups_.erase(g);
  return std::make_unique<RecvComm>(std::move(whole.streams), whole.proof, keepalive_);
}

Error ListenComm::nobody_came() const {
  return Error(
      Errc::kRemote,
      "the rank that sends to " + address_.text() + " has not connected for " +
          std::to_string(patience_.count()) +
          " ms (FANIN_TIMEOUT_MS): it has ended or hangs (see its log), cannot reach this address, or "
          "has another NCCL_NET_PLUGIN");
}

Status ListenComm::take_newcomers() {
  for (int i = 0; i < kMaxTakenPerCall; i++) {
    Result<Fd> fd = tcp::accept_from(fd_.get());
    if (!fd) {
      // Who has said nothing for longest holds what one of ours may need; but ours speak at once, and one that were dropped
      // before it is heard would never be whole.
      hear_newcomers();
      if (newcomers_.empty()) return fd.error().in("accepting on " + address_.text());
      if (!newcomers_.front().grace.passed()) break;
      newcomers_.pop_front();
      continue;
    }
    if (!*fd) break;
    if (!tcp::tune(fd->get(), keepalive_)) continue;  // died in the queue
    newcomers_.push_back({std::make_unique<tcp::TcpStream>(std::move(*fd)),
                          {},
                          0,
                          Deadline::after(hello_timeout_),
                          Deadline::after(kGrace)});
  }
  return {};
}

void ListenComm::hear_newcomers() {
  for (size_t i = 0; i < newcomers_.size();) {
    Verdict v = hear(newcomers_[i]);
    if (v == Verdict::kFriend) join(std::move(newcomers_[i]));
    if (v == Verdict::kWait)
      i++;
    else
      newcomers_.erase(newcomers_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  // Ours speak as soon as they are connected; who has been silent longest is least likely one of them.
  while (newcomers_.size() > kMaxSilent) newcomers_.pop_front();
}

ListenComm::Verdict ListenComm::hear(Newcomer& n) const {
  const size_t whole = sizeof(Hello) + (secret_ ? sizeof(HelloProof) : 0);
  iovec iov{reinterpret_cast<char*>(&n.greeting) + n.got, whole - n.got};
  IoResult r = n.stream->readv(&iov, 1);
  if (r.broken()) return Verdict::kDrop;
  if (r.moved()) n.got += r.bytes;
  const Hello& h = n.greeting.hello;
  if (n.got >= sizeof h.magic && h.magic != kHelloMagic) return Verdict::kDrop;
  if (n.got >= sizeof h) {
    if (h.version != kWireVersion || h.nonce != nonce_ || h.count < 2 || h.count > kMaxSockets ||
        h.index >= h.count)
      return Verdict::kDrop;
    if (h.proved != (secret_ ? 1 : 0)) {
      warn_of(*n.stream, secret_ ? "it has not the job's secret" : "it has a secret, this rank has none");
      return Verdict::kDrop;
    }
  }
  if (n.got < whole) return n.deadline.passed() ? Verdict::kDrop : Verdict::kWait;
  return !secret_ || proved(n) ? Verdict::kFriend : Verdict::kDrop;
}

bool ListenComm::proved(const Newcomer& n) const {
  Result<tcp::Address> sender = tcp::remote_address(n.stream->fd());
  if (!sender) return false;  // gone
  const HelloProof& p = n.greeting.proof;
  if (equal(p.proof, sender_proof(*secret_, n.greeting.hello, p.nonce, {address_, *sender}))) return true;
  warn_of(*n.stream,
          "it did not prove that it knows the job's secret, or addresses are translated on the way (NAT)");
  return false;
}

void ListenComm::join(Newcomer n) {
  const Hello& hello = n.greeting.hello;
  auto g = std::find_if(groups_.begin(), groups_.end(),
                        [&](const Group& o) { return o.connection == hello.connection; });
  if (g == groups_.end()) {
    if (std::find(begun_.begin(), begun_.end(), hello.connection) != begun_.end()) return;
    begun_.push_back(hello.connection);
    Group fresh;
    fresh.connection = hello.connection;
    fresh.streams.resize(hello.count);
    groups_.push_back(std::move(fresh));
    g = std::prev(groups_.end());
  }
  if (g->streams.size() != hello.count || g->streams[hello.index]) return;  // contradicts what came before
  if (secret_ && hello.index == 0) {
    Result<tcp::Address> sender = tcp::remote_address(n.stream->fd());
    if (!sender) return;  // gone
    g->proof = receiver_proof(*secret_, hello, n.greeting.proof.nonce, {address_, *sender});
  }
  g->streams[hello.index] = std::move(n.stream);
  g->here++;
}

// Who has the nonce is ours and may take its time; but one that died half-way leaves its sockets here.
void ListenComm::drop_broken_groups() {
  std::erase_if(groups_, [](const Group& g) {
    return std::any_of(g.streams.begin(), g.streams.end(), [](auto& s) { return s && peer_gone(*s); });
  });
}

}  // namespace fanin::plugin::net
