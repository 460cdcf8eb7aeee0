#include "reducer/http/client.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>

#include "transport/fd.h"
#include "transport/tcp/socket.h"

namespace fanin::reducer::http {
namespace {

Status wait(int fd, short events, Deadline deadline, const std::string& peer) {
  pollfd p{fd, events, 0};
  for (;;) {
    const int n = ::poll(&p, 1, deadline.poll_ms());
    if (n > 0) return {};
    if (n == 0 && deadline.passed()) return Error(Errc::kRemote, peer + " did not answer in time");
    if (n < 0 && errno != EINTR) return system_error("poll", errno);
  }
}

Result<Answer> parse(std::string bytes, const std::string& peer) {
  const size_t end = bytes.find("\r\n\r\n");
  if (end == std::string::npos || bytes.compare(0, 7, "HTTP/1.") != 0 || bytes.size() < 12)
    return Error(Errc::kRemote, peer +
                                    " does not speak HTTP; give the address that the reducer's --metrics has "
                                    "(its log says: status at …)");
  Answer a;
  a.status = atoi(bytes.c_str() + 9);
  a.body = bytes.substr(end + 4);
  a.head = std::move(bytes);
  a.head.resize(end + 2);
  return a;
}

Result<Fd> connect(const tcp::Address& at, Deadline deadline) {
  Result<Fd> fd = tcp::start_connect(at);
  if (!fd) return fd;
  if (Status s = wait(fd->get(), POLLOUT, deadline, at.text()); !s) return s.error();
  if (tcp::ConnectOutcome c = tcp::finish_connect(fd->get()); c.err != 0)
    return system_error("connecting to " + at.text(), c.err, Errc::kRemote);
  return fd;
}

}  // namespace

bool is_listening(const tcp::Address& at, Deadline deadline) {
  return static_cast<bool>(connect(at, deadline));
}

Result<Answer> ask(const tcp::Address& at, const std::string& method, const std::string& path,
                   Deadline deadline, const std::string& authorization) {
  const std::string peer = at.text();
  Result<Fd> fd = connect(at, deadline);
  if (!fd) return fd.error();
  std::string out = method + " " + path + " HTTP/1.1\r\nHost: " + peer + "\r\nConnection: close\r\n";
  if (!authorization.empty()) out += "Authorization: " + authorization + "\r\n";
  if (method == "POST") out += "Content-Length: 0\r\n";
  out += "\r\n";
  for (size_t sent = 0; sent < out.size();) {
    if (Status s = wait(fd->get(), POLLOUT, deadline, peer); !s) return s.error();
    const ssize_t n = ::send(fd->get(), out.data() + sent, out.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN && errno != EINTR)
      return system_error("sending to " + peer, errno, Errc::kRemote);
    if (n > 0) sent += static_cast<size_t>(n);
  }
  std::string in;
  char bytes[16384];
  for (;;) {
    if (Status s = wait(fd->get(), POLLIN, deadline, peer); !s) return s.error();
    const ssize_t n = ::recv(fd->get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (n == 0) return parse(std::move(in), peer);
    if (n < 0 && errno != EAGAIN && errno != EINTR)
      return system_error("reading from " + peer, errno, Errc::kRemote);
    if (n > 0) in.append(bytes, static_cast<size_t>(n));
    if (in.size() > kMaxAnswer) return Error(Errc::kRemote, peer + " sends without end");
  }
}

}  // namespace fanin::reducer::http
