#include "transport/tcp/tcp_stream.h"

#include <sys/socket.h>

#include <cerrno>

#include "transport/tcp/address.h"
#include "transport/tcp/tsan_socket.h"

namespace fanin::tcp {
namespace {

IoResult outcome(ssize_t n, bool reading) {
  using Kind = IoResult::Kind;
  if (n > 0) return {Kind::kBytes, static_cast<size_t>(n), 0};
  if (n == 0) return {reading ? Kind::kClosed : Kind::kWouldBlock, 0, 0};
  if (errno == EAGAIN || errno == EWOULDBLOCK) return {Kind::kWouldBlock, 0, 0};
  return {Kind::kFailed, 0, errno};
}

}  // namespace

TcpStream::TcpStream(Fd fd) : fd_(std::move(fd)) {
  Result<Address> a = remote_address(fd_.get());
  peer_ = a ? a->text() : "unknown peer";
}

IoResult TcpStream::readv(const iovec* iov, int n) {
  ssize_t r;
  do r = checked_readv(fd_.get(), iov, n);
  while (r < 0 && errno == EINTR);
  return outcome(r, true);
}

IoResult TcpStream::writev(const iovec* iov, int n) {
  msghdr m{};
  m.msg_iov = const_cast<iovec*>(iov);
  m.msg_iovlen = static_cast<size_t>(n);
  ssize_t r;
  do r = checked_sendmsg(fd_.get(), &m, MSG_NOSIGNAL | MSG_DONTWAIT);
  while (r < 0 && errno == EINTR);
  return outcome(r, false);
}

}  // namespace fanin::tcp
