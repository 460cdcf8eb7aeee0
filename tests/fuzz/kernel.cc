#include "tests/fuzz/kernel.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <vector>

#include "transport/sanitizers.h"

#ifdef FANIN_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace fanin::fuzz::kernel {
namespace {

constexpr int kFirst = 1 << 20;  // above every limit on open files

struct Socket {
  bool open = true;
  std::string in, out;
  size_t read = 0;
  bool ended = false;
  int err = 0;
  size_t room = SIZE_MAX;
  uint32_t interest = 0;  // 0: in no epoll
  void* tag = nullptr;
  bool listens = false;
};

std::vector<Socket> g_sockets;
std::deque<int> g_waiting;
bool g_capture = false;
std::function<void()> g_step;
uint64_t g_random = 0;

Socket* find(int fd) {
  const size_t i = static_cast<size_t>(fd) - kFirst;
  return fd >= kFirst && i < g_sockets.size() && g_sockets[i].open ? &g_sockets[i] : nullptr;
}
Socket& at(int fd) { return g_sockets[static_cast<size_t>(fd - kFirst)]; }

[[noreturn]] void die(const char* what) {
  fprintf(stderr, "fuzz kernel: %s\n", what);
  abort();
}

void must_be_addressable([[maybe_unused]] const void* p, [[maybe_unused]] size_t bytes) {
#ifdef FANIN_ASAN
  if (bytes > 0 && __asan_region_is_poisoned(const_cast<void*>(p), bytes)) {
    fprintf(stderr, "fuzz kernel: a buffer of %zu bytes given to a system call is not addressable\n", bytes);
    static_cast<const volatile char*>(
        __asan_region_is_poisoned(const_cast<void*>(p), bytes))[0];  // ASan explains
    abort();
  }
#endif
}

ssize_t refuse(int err) {
  errno = err;
  return -1;
}

uint32_t ready(const Socket& s) {
  uint32_t there = 0;
  if (s.read < s.in.size() || s.ended || s.err || (s.listens && !g_waiting.empty())) there |= EPOLLIN;
  if (s.ended) there |= EPOLLRDHUP;
  if (s.room > 0 || s.err) there |= EPOLLOUT;
  return there;
}

ssize_t read_from(Socket& s, const iovec* iov, size_t n) {
  if (n > 1024) return refuse(EINVAL);
  for (size_t i = 0; i < n; ++i) must_be_addressable(iov[i].iov_base, iov[i].iov_len);
  if (s.err) return refuse(s.err);
  if (s.read == s.in.size()) return s.ended ? 0 : refuse(EAGAIN);
  const size_t before = s.read;
  for (size_t i = 0; i < n; ++i) {
    const size_t here = std::min(iov[i].iov_len, s.in.size() - s.read);
    if (here) memcpy(iov[i].iov_base, s.in.data() + s.read, here);
    s.read += here;
  }
  return static_cast<ssize_t>(s.read - before);
}

ssize_t write_to(Socket& s, const iovec* iov, size_t n) {
  if (n > 1024) return refuse(EMSGSIZE);
  for (size_t i = 0; i < n; ++i) must_be_addressable(iov[i].iov_base, iov[i].iov_len);
  if (s.err) return refuse(s.err);
  if (s.room == 0) return refuse(EAGAIN);
  const size_t before = s.out.size();
  for (size_t i = 0; i < n; ++i) {
    const size_t here = std::min(iov[i].iov_len, s.room);
    s.out.append(static_cast<const char*>(iov[i].iov_base), here);
    if (s.room != SIZE_MAX) s.room -= here;
  }
  return static_cast<ssize_t>(s.out.size() - before);
}

int give_name(uint16_t port, sockaddr* to, socklen_t* length) {
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(port);
  a.sin_addr.s_addr = htonl(0x0a000007);
  memcpy(to, &a, std::min<size_t>(*length, sizeof a));
  *length = sizeof a;
  return 0;
}

}  // namespace

int socket() {
  if (g_sockets.size() >= 4096) die("too many sockets");
  g_sockets.emplace_back();
  return kFirst + static_cast<int>(g_sockets.size()) - 1;
}
int arrive() {
  g_waiting.push_back(socket());
  return g_waiting.back();
}
int listener() {
  const int fd = socket();
  at(fd).listens = true;
  return fd;
}
int newest() { return kFirst + static_cast<int>(g_sockets.size()) - 1; }
void on_wait(std::function<void()> step) { g_step = std::move(step); }
void capture(bool on) { g_capture = on; }
void deliver(int fd, std::string_view bytes) { at(fd).in.append(bytes); }
void end(int fd) { at(fd).ended = true; }
void fail(int fd, int err) { at(fd).err = err; }
void room(int fd, size_t bytes) { at(fd).room = bytes; }
std::string& sent(int fd) { return at(fd).out; }
bool is_open(int fd) { return at(fd).open; }
void* tag(int fd) { return at(fd).tag; }

uint32_t events(int fd) {
  const Socket& s = at(fd);
  if (!s.open || s.interest == 0) return 0;
  return (ready(s) & s.interest) | (s.err ? EPOLLERR | EPOLLHUP : 0u);
}

void reset() {
  for (int fd : g_waiting) at(fd).open = false;  // in the queue still: Linux closes these with the listener
  g_waiting.clear();
  for (const Socket& s : g_sockets)
    if (s.open) die("a socket was leaked");
  g_sockets.clear();
  g_step = nullptr;
  g_random = 0;
}

}  // namespace fanin::fuzz::kernel

using namespace fanin::fuzz::kernel;

extern "C" {

ssize_t readv(int fd, const iovec* iov, int n) {
  if (Socket* s = find(fd)) return read_from(*s, iov, static_cast<size_t>(n));
  return syscall(SYS_readv, fd, iov, n);
}
ssize_t recv(int fd, void* to, size_t bytes, int flags) {
  Socket* s = find(fd);
  if (!s) return syscall(SYS_recvfrom, fd, to, bytes, flags, nullptr, nullptr);
  const size_t before = s->read;
  const iovec iov{to, bytes};
  const ssize_t n = read_from(*s, &iov, 1);
  if (flags & MSG_PEEK) s->read = before;
  return n;
}
ssize_t sendmsg(int fd, const msghdr* m, int flags) {
  if (Socket* s = find(fd)) return write_to(*s, m->msg_iov, m->msg_iovlen);
  return syscall(SYS_sendmsg, fd, m, flags);
}
ssize_t send(int fd, const void* from, size_t bytes, int flags) {
  const iovec iov{const_cast<void*>(from), bytes};
  if (Socket* s = find(fd)) return write_to(*s, &iov, 1);
  return syscall(SYS_sendto, fd, from, bytes, flags, nullptr, 0);
}
int close(int fd) {
  if (fd >= kFirst) {
    Socket* s = find(fd);
    if (!s) die("a descriptor was closed twice");
    s->open = false;
    s->interest = 0;
    s->tag = nullptr;
    return 0;
  }
  return static_cast<int>(syscall(SYS_close, fd));
}
int shutdown(int fd, int how) noexcept {
  if (find(fd)) return 0;
  return static_cast<int>(syscall(SYS_shutdown, fd, how));
}
int epoll_ctl(int epoll, int op, int fd, epoll_event* e) noexcept {
  Socket* s = find(fd);
  if (!s) return static_cast<int>(syscall(SYS_epoll_ctl, epoll, op, fd, e));
  s->interest = op == EPOLL_CTL_DEL ? 0 : e->events;
  s->tag = op == EPOLL_CTL_DEL ? nullptr : e->data.ptr;
  return 0;
}
// One epoll has all sockets of here; what is registered elsewhere is not looked at meanwhile.
int epoll_wait(int epoll, epoll_event* to, int most, int timeout) {
  if (!g_step) return static_cast<int>(syscall(SYS_epoll_pwait, epoll, to, most, timeout, nullptr, 8));
  g_step();
  int n = 0;
  for (size_t i = 0; i < g_sockets.size() && n < most; ++i) {
    const uint32_t there = events(kFirst + static_cast<int>(i));
    if (there == 0) continue;
    to[n].events = there;
    to[n++].data.ptr = g_sockets[i].tag;
  }
  return n;
}
// This is poll; the header's own declaration calls p write-only.
int poll_here(pollfd* p, nfds_t n, int timeout) __asm__("poll");
int poll_here(pollfd* p, nfds_t n, int timeout) {
  if (n != 1 || !find(p->fd)) {
    const timespec t{timeout / 1000, timeout % 1000 * 1000000l};
    return static_cast<int>(syscall(SYS_ppoll, p, n, timeout < 0 ? nullptr : &t, nullptr, 8));
  }
  if (g_step) g_step();
  // POLLIN, POLLOUT and EPOLLIN, EPOLLOUT are the same bits.
  p->revents = static_cast<short>(ready(at(p->fd)) & static_cast<uint32_t>(p->events));
  return p->revents != 0;
}
int socket(int family, int type, int protocol) noexcept {
  if (g_capture && (family == AF_INET || family == AF_INET6)) return fanin::fuzz::kernel::socket();
  return static_cast<int>(syscall(SYS_socket, family, type, protocol));
}
int bind(int fd, const sockaddr* to, socklen_t length) noexcept {
  if (find(fd)) return 0;
  return static_cast<int>(syscall(SYS_bind, fd, to, length));
}
int listen(int fd, int backlog) noexcept {
  if (find(fd)) return 0;
  return static_cast<int>(syscall(SYS_listen, fd, backlog));
}
int connect(int fd, const sockaddr* to, socklen_t length) {
  if (find(fd)) return 0;
  return static_cast<int>(syscall(SYS_connect, fd, to, length));
}
int accept4(int fd, sockaddr* from, socklen_t* length, int flags) {
  if (!find(fd)) return static_cast<int>(syscall(SYS_accept4, fd, from, length, flags));
  if (g_waiting.empty()) return static_cast<int>(refuse(EAGAIN));
  const int next = g_waiting.front();
  g_waiting.pop_front();
  return next;
}
int getsockname(int fd, sockaddr* to, socklen_t* length) noexcept {
  if (find(fd)) return give_name(4000, to, length);
  return static_cast<int>(syscall(SYS_getsockname, fd, to, length));
}
int getpeername(int fd, sockaddr* to, socklen_t* length) noexcept {
  if (find(fd)) return give_name(4001, to, length);
  return static_cast<int>(syscall(SYS_getpeername, fd, to, length));
}
int setsockopt(int fd, int level, int name, const void* value, socklen_t length) noexcept {
  if (find(fd)) return 0;
  return static_cast<int>(syscall(SYS_setsockopt, fd, level, name, value, length));
}
int getsockopt(int fd, int level, int name, void* value, socklen_t* length) noexcept {
  if (!find(fd)) return static_cast<int>(syscall(SYS_getsockopt, fd, level, name, value, length));
  memset(value, 0, *length);
  return 0;
}
// Never the same twice in one run of an input, and the same in each.
ssize_t getrandom(void* to, size_t bytes, unsigned) {
  memset(to, 0, bytes);
  ++g_random;
  memcpy(to, &g_random, std::min(bytes, sizeof g_random));
  return static_cast<ssize_t>(bytes);
}
int ioctl(int fd, unsigned long request, ...) noexcept {
  va_list args;
  va_start(args, request);
  void* argument = va_arg(args, void*);
  va_end(args);
  if (!find(fd)) return static_cast<int>(syscall(SYS_ioctl, fd, request, argument));
  *static_cast<int*>(argument) = 0;
  return 0;
}

}  // extern "C"
