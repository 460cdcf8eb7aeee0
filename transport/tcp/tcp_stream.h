// Stream over one connected TCP socket (see transport/stream.h for the contract). Owns the descriptor.
#pragma once
#include "transport/fd.h"
#include "transport/stream.h"
#include "transport/tcp/socket.h"

namespace fanin::tcp {

class TcpStream final : public Stream {
 public:
  explicit TcpStream(Fd fd);  // reads the peer's address once
  IoResult readv(const iovec* iov, int n) override;
  IoResult writev(const iovec* iov, int n) override;
  int fd() const override { return fd_.get(); }
  const std::string& peer() const override { return peer_; }
  std::chrono::milliseconds unanswered() const override { return tcp::unanswered(fd_.get()); }
  uint64_t rate() const override { return tcp::delivery_rate(fd_.get()); }

 private:
  Fd fd_;
  std::string peer_;
};

}  // namespace fanin::tcp
