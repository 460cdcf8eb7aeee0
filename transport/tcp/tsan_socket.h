// readv and sendmsg; under ThreadSanitizer, with the order that goes through the network made visible.
//
// A result may be received into the very bytes that another thread's sendmsg has just sent (in-place all-reduce): the reducer
// cannot answer bytes it has not got, so that they were read before they are overwritten. ThreadSanitizer sees neither the
// reducer nor the kernel, and records a call's reads only after it returned. So here the reads are recorded and released
// before the call, and what is received is acquired before its writes are recorded. In other builds these are the plain calls.
#pragma once
#include <sys/socket.h>
#include <sys/uio.h>

#include "transport/sanitizers.h"

#ifdef FANIN_TSAN
#include <sanitizer/tsan_interface.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

extern "C" {
void __tsan_read_range(void* address, unsigned long size);
void __tsan_write_range(void* address, unsigned long size);
}

namespace fanin::tcp {

inline char g_network;  // the order of everything sent and received

inline ssize_t checked_readv(int fd, const iovec* iov, int n) {
  const ssize_t got = syscall(SYS_readv, fd, iov, n);
  __tsan_acquire(&g_network);
  size_t left = got > 0 ? static_cast<size_t>(got) : 0;
  for (int i = 0; i < n && left > 0; ++i) {
    const size_t here = std::min(left, iov[i].iov_len);
    __tsan_write_range(iov[i].iov_base, here);
    left -= here;
  }
  return got;
}

inline ssize_t checked_sendmsg(int fd, const msghdr* m, int flags) {
  for (size_t i = 0; i < m->msg_iovlen; ++i) __tsan_read_range(m->msg_iov[i].iov_base, m->msg_iov[i].iov_len);
  __tsan_release(&g_network);
  return syscall(SYS_sendmsg, fd, m, flags);
}

}  // namespace fanin::tcp
#else
namespace fanin::tcp {

inline ssize_t checked_readv(int fd, const iovec* iov, int n) { return ::readv(fd, iov, n); }
inline ssize_t checked_sendmsg(int fd, const msghdr* m, int flags) { return ::sendmsg(fd, m, flags); }

}  // namespace fanin::tcp
#endif
