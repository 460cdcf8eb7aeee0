#include "perf/fanin_perf/syscall_count.h"

#include <dlfcn.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FANIN_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FANIN_SANITIZED 1
#endif
#endif
#ifndef FANIN_SANITIZED
#define FANIN_SANITIZED 0
#endif

namespace fanin::perf {
namespace {

std::atomic<uint64_t> g_own{0};
std::atomic<std::atomic<uint64_t>*> g_counter{&g_own};

}  // namespace

void count_syscalls_in(std::atomic<uint64_t>* counter) {
  g_counter.store(counter, std::memory_order_relaxed);
}
bool syscalls_countable() { return !FANIN_SANITIZED; }
std::optional<uint64_t> syscalls_so_far() {
  if (!syscalls_countable()) return std::nullopt;
  return g_counter.load(std::memory_order_relaxed)->load(std::memory_order_relaxed);
}

}  // namespace fanin::perf

#if !FANIN_SANITIZED
namespace {

void count_one() {
  fanin::perf::g_counter.load(std::memory_order_relaxed)->fetch_add(1, std::memory_order_relaxed);
}

// The next definition of a function in the loader's order: libc's. Looked up once per function; a race is
// harmless.
template <class F>
F* next(std::atomic<F*>& slot, const char* name) {
  F* f = slot.load(std::memory_order_acquire);
  if (!f) {
    f = reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
    slot.store(f, std::memory_order_release);
  }
  return f;
}

}  // namespace

// result name(parameters) that counts and forwards.
#define FANIN_COUNTED(result, name, parameters, arguments)           \
  extern "C" [[gnu::visibility("default")]] result name parameters { \
    using Function = result parameters;                              \
    static std::atomic<Function*> slot{nullptr};                     \
    count_one();                                                     \
    return next(slot, #name) arguments;                              \
  }

FANIN_COUNTED(ssize_t, read, (int fd, void* buf, size_t n), (fd, buf, n))
FANIN_COUNTED(ssize_t, write, (int fd, const void* buf, size_t n), (fd, buf, n))
FANIN_COUNTED(ssize_t, readv, (int fd, const iovec* iov, int n), (fd, iov, n))
FANIN_COUNTED(ssize_t, writev, (int fd, const iovec* iov, int n), (fd, iov, n))
FANIN_COUNTED(ssize_t, recv, (int fd, void* buf, size_t n, int flags), (fd, buf, n, flags))
FANIN_COUNTED(ssize_t, send, (int fd, const void* buf, size_t n, int flags), (fd, buf, n, flags))
FANIN_COUNTED(ssize_t, recvfrom, (int fd, void* buf, size_t n, int flags, sockaddr* a, socklen_t* len),
              (fd, buf, n, flags, a, len))
FANIN_COUNTED(ssize_t, sendto,
              (int fd, const void* buf, size_t n, int flags, const sockaddr* a, socklen_t len),
              (fd, buf, n, flags, a, len))
FANIN_COUNTED(ssize_t, recvmsg, (int fd, msghdr* m, int flags), (fd, m, flags))
FANIN_COUNTED(ssize_t, sendmsg, (int fd, const msghdr* m, int flags), (fd, m, flags))
FANIN_COUNTED(int, poll, (pollfd * fds, nfds_t n, int timeout), (fds, n, timeout))
FANIN_COUNTED(int, epoll_wait, (int fd, epoll_event* events, int n, int timeout), (fd, events, n, timeout))
FANIN_COUNTED(int, epoll_pwait, (int fd, epoll_event* events, int n, int timeout, const sigset_t* mask),
              (fd, events, n, timeout, mask))
FANIN_COUNTED(int, epoll_ctl, (int fd, int op, int what, epoll_event* event), (fd, op, what, event))
#endif
