#include "plugin/net/listen_comm.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "plugin/net/random.h"
#include "transport/tcp/socket.h"
#include "transport/tcp/tcp_stream.h"

namespace fanin::plugin::net {
namespace {

constexpr int kMaxTakenPerCall = 64;

bool peer_gone(const Stream& s) {
  char byte;
  ssize_t n = ::recv(s.fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

}  // namespace

Result<std::unique_ptr<ListenComm>> ListenComm::open(const tcp::Address& at,
                                                     std::chrono::milliseconds hello_timeout) {
  tcp::Address any_port = at;
  any_port.set_port(0);
  Result<Fd> fd = tcp::listen_on(any_port);
  if (!fd) return fd.error();
  Result<tcp::Address> address = tcp::local_address(fd->get());
  if (!address) return address.error();
  return std::unique_ptr<ListenComm>(new ListenComm(std::move(*fd), *address, hello_timeout));
}

ListenComm::ListenComm(Fd fd, tcp::Address address, std::chrono::milliseconds hello_timeout)
    : fd_(std::move(fd)), address_(address), nonce_(random_u64()), hello_timeout_(hello_timeout) {}

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
    return std::unique_ptr<RecvComm>();
  }
  std::vector<std::unique_ptr<Stream>> streams = std::move(g->streams);
  groups_.erase(g);
  return std::make_unique<RecvComm>(std::move(streams));
}

Status ListenComm::take_newcomers() {
  for (int i = 0; i < kMaxTakenPerCall; i++) {
    Result<Fd> fd = tcp::accept_from(fd_.get());
    if (!fd) return fd.error().in("accepting on " + address_.text());
    if (!*fd) break;
    if (!tcp::tune(fd->get())) continue;  // died in the queue
    newcomers_.push_back(
        {std::make_unique<tcp::TcpStream>(std::move(*fd)), {}, 0, Deadline::after(hello_timeout_)});
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
  iovec iov{reinterpret_cast<char*>(&n.hello) + n.got, sizeof(Hello) - n.got};
  IoResult r = n.stream->readv(&iov, 1);
  if (r.broken()) return Verdict::kDrop;
  if (r.moved()) n.got += r.bytes;
  const Hello& h = n.hello;
  if (n.got >= sizeof h.magic && h.magic != kHelloMagic) return Verdict::kDrop;
  if (n.got < sizeof(Hello)) return n.deadline.passed() ? Verdict::kDrop : Verdict::kWait;
  bool good = h.version == kWireVersion && h.nonce == nonce_ && h.count >= 2 && h.count <= kMaxSockets &&
              h.index < h.count;
  return good ? Verdict::kFriend : Verdict::kDrop;
}

void ListenComm::join(Newcomer n) {
  auto g = std::find_if(groups_.begin(), groups_.end(),
                        [&](const Group& o) { return o.connection == n.hello.connection; });
  if (g == groups_.end()) {
    Group fresh;
    fresh.connection = n.hello.connection;
    fresh.streams.resize(n.hello.count);
    groups_.push_back(std::move(fresh));
    g = std::prev(groups_.end());
  }
  if (g->streams.size() != n.hello.count || g->streams[n.hello.index])
    return;  // contradicts what came before
  g->streams[n.hello.index] = std::move(n.stream);
  g->here++;
}

// Who has the nonce is ours and may take its time; but one that died half-way leaves its sockets here.
void ListenComm::drop_broken_groups() {
  std::erase_if(groups_, [](const Group& g) {
    return std::any_of(g.streams.begin(), g.streams.end(), [](auto& s) { return s && peer_gone(*s); });
  });
}

}  // namespace fanin::plugin::net
