#include "perf/bare_tcp/echo.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "fanin/json.h"
#include "perf/common/clock.h"
#include "transport/fd.h"
#include "transport/tcp/socket.h"

namespace fanin::perf {
namespace {

Status send_all(int fd, const char* p, size_t bytes) {
  while (bytes > 0) {
    const ssize_t n = ::send(fd, p, bytes, MSG_NOSIGNAL);
    if (n < 0 && errno != EINTR) return system_error("send", errno, Errc::kRemote);
    if (n > 0) p += n, bytes -= static_cast<size_t>(n);
  }
  return {};
}

// False at a clean end before the first byte.
Result<bool> receive_all(int fd, char* p, size_t bytes) {
  const size_t wanted = bytes;
  while (bytes > 0) {
    const ssize_t n = ::recv(fd, p, bytes, MSG_WAITALL);
    if (n == 0 && bytes == wanted) return false;
    if (n == 0) return Error(Errc::kRemote, "the peer left within a message");
    if (n < 0 && errno != EINTR) return system_error("recv", errno, Errc::kRemote);
    if (n > 0) p += n, bytes -= static_cast<size_t>(n);
  }
  return true;
}

Status make_blocking(int fd) {
  if (Status s = tcp::tune(fd); !s) return s;
  if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) != 0) return system_error("fcntl", errno);
  return {};
}

// A client first says how large its messages are.
Status serve_one(int fd) {
  if (Status s = make_blocking(fd); !s) return s;
  uint64_t bytes = 0;
  auto more = receive_all(fd, reinterpret_cast<char*>(&bytes), sizeof bytes);
  if (!more) return more.error();
  if (!*more || bytes == 0 || bytes > (64 << 20)) return Error(Errc::kRemote, "no size");
  std::vector<char> message(bytes);
  for (;;) {
    more = receive_all(fd, message.data(), bytes);
    if (!more) return more.error();
    if (!*more) return {};
    if (Status s = send_all(fd, message.data(), bytes); !s) return s;
  }
}

Result<tcp::Address> address_of(const std::string& text) {
  auto hp = tcp::parse_host_port(text);
  if (!hp) return hp.error();
  auto all = tcp::resolve(*hp);
  if (!all) return all.error();
  return all->front();
}

}  // namespace

Status serve_echo(const EchoOptions& o) {
  auto at = address_of(o.address);
  if (!at) return at.error();
  Result<Fd> listener = tcp::listen_on(*at);
  if (!listener) return listener.error();
  if (!o.port_file.empty()) {
    auto own = tcp::local_address(listener->get());
    if (!own) return own.error();
    const std::string part = o.port_file + ".part";
    FILE* f = fopen(part.c_str(), "w");
    if (!f) return system_error("cannot write " + part, errno);
    fprintf(f, "%u\n", own->port());
    fclose(f);
    if (rename(part.c_str(), o.port_file.c_str()) != 0) return system_error("rename", errno);
  }
  for (;;) {
    pollfd p{listener->get(), POLLIN, 0};
    if (::poll(&p, 1, -1) < 0 && errno != EINTR) return system_error("poll", errno);
    Result<Fd> fd = tcp::accept_from(listener->get());
    if (!fd) return fd.error();
    if (!*fd) continue;
    if (Status s = serve_one(fd->get()); !s)
      fprintf(stderr, "bare-tcp: a client: %s\n", s.error().text().c_str());
  }
}

Status run_echo(const EchoOptions& o) {
  auto at = address_of(o.address);
  if (!at) return at.error();
  Result<Fd> fd = tcp::start_connect(*at);
  if (!fd) return fd.error();
  pollfd p{fd->get(), POLLOUT, 0};
  ::poll(&p, 1, 10000);
  if (int err = tcp::finish_connect(fd->get()).err; err != 0)
    return system_error("connect " + at->text(), err, Errc::kRemote);
  if (Status s = make_blocking(fd->get()); !s) return s;
  const uint64_t bytes = o.bytes;
  if (Status s = send_all(fd->get(), reinterpret_cast<const char*>(&bytes), sizeof bytes); !s) return s;
  std::vector<char> out(o.bytes, 1), in(o.bytes);
  std::vector<double> times;
  for (int i = -o.warmup; i < o.iters; i++) {
    const double start = seconds();
    if (Status s = send_all(fd->get(), out.data(), out.size()); !s) return s;
    auto got = receive_all(fd->get(), in.data(), in.size());
    if (!got) return got.error();
    if (!*got) return Error(Errc::kRemote, "the server left");
    if (i >= 0) times.push_back((seconds() - start) * 1e6);
  }
  double sum = 0;
  for (double t : times) sum += t;
  std::sort(times.begin(), times.end());
  Json j;
  j.open('{')
      .key("program")
      .value("bare-tcp echo")
      .key("bytes")
      .value(o.bytes)
      .key("iterations")
      .value(o.iters);
  j.key("time_us").open('{').key("mean").value(sum / static_cast<double>(times.size()));
  j.key("median").value(times[times.size() / 2]).key("p99").value(times[(times.size() - 1) * 99 / 100]);
  j.key("min").value(times.front()).close('}').close('}');
  printf("%s\n", j.text().c_str());
  return {};
}

}  // namespace fanin::perf
