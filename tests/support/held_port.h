// A port (of loopback, unless told otherwise) where nobody listens until the test lets somebody: connections to it are refused. It is bound as
// long as this lives, so the kernel gives it to no other process, neither to listen on nor to connect from. A server
// that sets SO_REUSEADDR, as tcp::listen_on does, may listen on it all the same.
#pragma once
#include <sys/socket.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "transport/fd.h"
#include "transport/tcp/address.h"

namespace fanin::test {

class HeldPort {
 public:
  explicit HeldPort(const tcp::Address& at = tcp::Address::loopback(0))
      : fd_(::socket(at.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int one = 1;
    if (::setsockopt(fd_.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
        ::bind(fd_.get(), at.sa(), at.length()) != 0) {
      perror("cannot hold a port");
      abort();
    }
  }
  tcp::Address address() const { return *tcp::local_address(fd_.get()); }
  std::string text() const { return address().text(); }  // "127.0.0.1:41234"
  int fd() const { return fd_.get(); }

 private:
  Fd fd_;
};

}  // namespace fanin::test
