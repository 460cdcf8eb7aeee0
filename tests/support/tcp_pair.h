// Connected TCP sockets over loopback, raw or as streams.
#pragma once
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "transport/tcp/socket.h"
#include "transport/tcp/tcp_stream.h"

namespace fanin::test {

// A blocking-free client connection to a listener; waits until it is established.
inline Fd dial(const tcp::Address& to) {
  auto fd = tcp::start_connect(to);
  if (!fd) {
    ADD_FAILURE() << fd.error().text();
    return Fd();
  }
  pollfd p{fd->get(), POLLOUT, 0};
  EXPECT_EQ(::poll(&p, 1, 10000), 1);
  EXPECT_EQ(tcp::finish_connect(fd->get()).err, 0);
  return std::move(*fd);
}

inline std::pair<Fd, Fd> tcp_pair() {
  auto listener = tcp::listen_on(tcp::Address::loopback(0));
  auto address = tcp::local_address(listener->get());
  Fd client = dial(*address);
  pollfd p{listener->get(), POLLIN, 0};
  EXPECT_EQ(::poll(&p, 1, 10000), 1);
  auto server = tcp::accept_from(listener->get());
  EXPECT_TRUE(server && *server);
  return {std::move(client), std::move(*server)};
}

// Waits up to ten seconds for the peer to close; data before that is thrown away.
inline bool closed_by_peer(int fd) {
  for (char scratch[4096];;) {
    pollfd p{fd, POLLIN, 0};
    if (::poll(&p, 1, 10000) != 1) return false;
    ssize_t n = ::recv(fd, scratch, sizeof scratch, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return true;
  }
}

}  // namespace fanin::test
