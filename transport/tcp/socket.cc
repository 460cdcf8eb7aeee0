#include "transport/tcp/socket.h"

#include <netinet/tcp.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace fanin::tcp {
namespace {

Result<Fd> new_socket(int family) {
  Fd fd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return system_error("socket", errno);
  return fd;
}

// Every rank of a job connects in the same moment. The kernel takes net.core.somaxconn of it.
constexpr int kBacklog = 65535;

bool may_pass(int err) {
  switch (err) {
    case ECONNREFUSED:
    case ECONNRESET:
    case ECONNABORTED:
    case EHOSTUNREACH:
    case EHOSTDOWN:
    case ENETUNREACH:
    case ENETDOWN:
    case ENONET:
    case EPROTO:
    case ETIMEDOUT:
    case EINTR:
    case EAGAIN:
    case EADDRNOTAVAIL:
      return true;
    default:
      return false;
  }
}

}  // namespace

namespace {

// bind's errors name what is wrong; these say what to do.
const char* bind_hint(int err) {
  switch (err) {
    case EADDRINUSE:
      return "; another process listens there: stop it or take another port (0 finds a free one)";
    case EADDRNOTAVAIL:
      return "; give an address of this host";
    case EACCES:
      return "; take a port above 1023";
    default:
      return "";
  }
}

}  // namespace

Result<Fd> listen_on(const Address& at, int* err) {
  int unused;
  int& why = err ? *err : unused;
  why = 0;
  Result<Fd> fd = new_socket(at.family());
  if (!fd) return fd;
  int one = 1;
  setsockopt(fd->get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (at.family() == AF_INET6) {
    // [::] takes IPv4 too, whatever net.ipv6.bindv6only says.
    int only = at.is_any() ? 0 : 1;
    setsockopt(fd->get(), IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only);
  }
  if (::bind(fd->get(), at.sa(), at.length()) != 0) {
    why = errno;
    return Error(Errc::kSystem, system_error("cannot bind " + at.text(), why).text() + bind_hint(why));
  }
  if (::listen(fd->get(), kBacklog) != 0) {
    why = errno;
    return system_error("cannot listen on " + at.text(), why);
  }
  return fd;
}

Result<Fd> accept_from(int listener) {
  for (;;) {
    Fd fd(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd) return fd;
    switch (errno) {
      case EAGAIN:
        return Fd();
      // Errors of the connection, not of the listener (accept(2)): take the next one.
      case EINTR:
      case ECONNABORTED:
      case EPROTO:
      case ENETDOWN:
      case EHOSTDOWN:
      case EHOSTUNREACH:
      case ENETUNREACH:
      case ENOPROTOOPT:
      case ENONET:
      case EOPNOTSUPP:
      case EPERM:
        continue;
      default:
        int err = errno;
        // accept() takes the descriptor first: without one it fails even when nobody waits.
        pollfd waiting{listener, POLLIN, 0};
        if (::poll(&waiting, 1, 0) == 0) return Fd();
        return system_error("accept", err);
    }
  }
}

Result<Fd> start_connect(const Address& to, const std::optional<Address>& source) {
  Result<Fd> fd = new_socket(to.family());
  if (!fd) return fd;
  bool bound = false;
  if (source && source->family() == to.family()) {
    // The port is chosen at connect, per destination: thousands of connections do not exhaust the ephemeral
    // range.
    int one = 1;
    setsockopt(fd->get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
    Address from = *source;
    from.set_port(0);
    bound = ::bind(fd->get(), from.sa(), from.length()) == 0;
  }
  for (;;) {
    if (::connect(fd->get(), to.sa(), to.length()) == 0 || errno == EINPROGRESS) return fd;
    if (errno == EINTR) return fd;  // goes on in the background, as EINPROGRESS
    int err = errno;
    if (bound && (err == ENETUNREACH || err == EHOSTUNREACH || err == EINVAL || err == EADDRNOTAVAIL))
      return start_connect(to, std::nullopt);
    return system_error("connect to " + to.text(), err, may_pass(err) ? Errc::kRemote : Errc::kSystem);
  }
}

std::optional<Address> source_for(const Address& to) {
  const Fd fd(::socket(to.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd || ::connect(fd.get(), to.sa(), to.length()) != 0) return std::nullopt;
  const Result<Address> at = local_address(fd.get());
  return at ? std::optional<Address>(*at) : std::nullopt;
}

namespace {

// A connect to an ephemeral port of its own host can be given that very port to leave from, and meets itself.
bool met_itself(int fd) {
  const Result<Address> local = local_address(fd), remote = remote_address(fd);
  return local && remote && *local == *remote;
}

}  // namespace

ConnectOutcome finish_connect(int fd) {
  int err = 0;
  socklen_t len = sizeof err;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) != 0) err = errno;
  if (err == 0 && met_itself(fd)) {
    // Its port is the one the awaited server will listen on: nothing of it may linger.
    const linger none{1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    err = ECONNREFUSED;
  }
  return {err, err != 0 && may_pass(err)};
}

Status tune(int fd, std::chrono::milliseconds silence) {
  constexpr int kProbes = 4;
  const int seconds = std::max<int>(3, static_cast<int>(silence.count() / 1000));
  const int interval = std::max(1, seconds / 6), probes = std::min(kProbes, (seconds - 1) / interval);
  const struct {
    int level, name, value;
    const char* what;
  } options[] = {
      {IPPROTO_TCP, TCP_NODELAY, 1, "TCP_NODELAY"},
      {SOL_SOCKET, SO_KEEPALIVE, 1, "SO_KEEPALIVE"},
      {IPPROTO_TCP, TCP_KEEPIDLE, seconds - probes * interval, "TCP_KEEPIDLE"},
      {IPPROTO_TCP, TCP_KEEPINTVL, interval, "TCP_KEEPINTVL"},
      {IPPROTO_TCP, TCP_KEEPCNT, probes, "TCP_KEEPCNT"},
  };
  for (auto& o : options)
    if (setsockopt(fd, o.level, o.name, &o.value, sizeof o.value) != 0)
      return system_error(std::string("setsockopt ") + o.what, errno);
  return {};
}

void keep_in_cache(int fd, int bytes, int least) {
  // What the kernel would grant; it cannot be undone on a socket that is in use.
  static const int most = [] {
    const Fd probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    int size = INT_MAX / 2;
    socklen_t len = sizeof size;
    if (!probe || setsockopt(probe.get(), SOL_SOCKET, SO_SNDBUF, &size, sizeof size) != 0 ||
        getsockopt(probe.get(), SOL_SOCKET, SO_SNDBUF, &size, &len) != 0)
      return 0;
    return size / 2;  // the kernel doubles what it is told
  }();
  if (std::min(bytes, most) < std::max(least, 1)) return;
  const Result<Address> local = local_address(fd), remote = remote_address(fd);
  if (!local || !remote || local->bytes() != remote->bytes()) return;
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

std::chrono::milliseconds unanswered(int fd) {
  tcp_info info{};
  socklen_t len = sizeof info;
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0) return {};
  // Both counts begin anew with every acknowledgement. One window probe may just have left: its answer is on the way.
  if (info.tcpi_retransmits == 0 && info.tcpi_probes < 2) return {};
  return std::chrono::milliseconds(info.tcpi_last_ack_recv);
}

}  // namespace fanin::tcp
