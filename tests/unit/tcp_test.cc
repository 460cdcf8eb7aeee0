// The TCP transport: listening, connecting and the Stream contract, over loopback.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <climits>

#include "tests/support/held_port.h"
#include "tests/support/no_descriptors.h"
#include "transport/deadline.h"
#include "transport/tcp/socket.h"
#include "transport/tcp/tcp_stream.h"

namespace fanin::tcp {
namespace {

void wait_for(int fd, short events) {
  pollfd p{fd, events, 0};
  ASSERT_EQ(poll(&p, 1, 10000), 1);
}

struct Pair {
  std::unique_ptr<TcpStream> a, b;
};

Pair connected() {
  Result<Fd> listener = listen_on(Address::loopback(0));
  EXPECT_TRUE(listener);
  Result<Fd> out = start_connect(*local_address(listener->get()), Address::loopback(0));
  EXPECT_TRUE(out);
  wait_for(out->get(), POLLOUT);
  EXPECT_EQ(finish_connect(out->get()).err, 0);
  wait_for(listener->get(), POLLIN);
  Result<Fd> in = accept_from(listener->get());
  EXPECT_TRUE(in && *in);
  return {std::make_unique<TcpStream>(std::move(*out)), std::make_unique<TcpStream>(std::move(*in))};
}

TEST(Tcp, EveryDescriptorIsCloseOnExecAndNonBlocking) {
  Pair p = connected();
  for (TcpStream* s : {p.a.get(), p.b.get()}) {
    EXPECT_TRUE(fcntl(s->fd(), F_GETFD) & FD_CLOEXEC);
    EXPECT_TRUE(fcntl(s->fd(), F_GETFL) & O_NONBLOCK);
  }
}

TEST(Tcp, AcceptWithNobodyWaitingIsAnEmptyFd) {
  Result<Fd> listener = listen_on(Address::loopback(0));
  ASSERT_TRUE(listener);
  Result<Fd> none = accept_from(listener->get());
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
}

// A listener that is asked in vain must not be taken for one that is out of descriptors.
TEST(Tcp, AcceptWithoutDescriptorsFailsOnlyWhereSomebodyWaits) {
  Result<Fd> listener = listen_on(Address::loopback(0));
  ASSERT_TRUE(listener);
  Fd late(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const Address at = *local_address(listener->get());
  const test::NoDescriptors left;
  Result<Fd> none = accept_from(listener->get());
  ASSERT_TRUE(none) << none.error().text();
  EXPECT_FALSE(*none);
  ASSERT_EQ(::connect(late.get(), at.sa(), at.length()), 0);
  EXPECT_FALSE(accept_from(listener->get()));
}

TEST(Tcp, RefusedConnectSaysItMayPass) {
  const test::HeldPort nobody;
  Result<Fd> fd = start_connect(nobody.address());
  if (!fd) return;  // loopback may refuse at once
  wait_for(fd->get(), POLLOUT);
  ConnectOutcome o = finish_connect(fd->get());
  EXPECT_EQ(o.err, ECONNREFUSED);
  EXPECT_TRUE(o.retry);
}

// The kernel may choose the very port that is connected to as the one to leave from, and then connects it to itself.
TEST(Tcp, AConnectionThatMetItselfIsRefusedAndLeavesThePortFree) {
  for (const Address& loopback : {Address::loopback(0), *Address::numeric("::1", 0)}) {
    Fd fd(::socket(loopback.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd || ::bind(fd.get(), loopback.sa(), loopback.length()) != 0) continue;  // no IPv6 here
    const Address own = *local_address(fd.get());
    const int started = ::connect(fd.get(), own.sa(), own.length());
    ASSERT_TRUE(started == 0 || errno == EINPROGRESS) << strerror(errno);
    wait_for(fd.get(), POLLOUT);
    ASSERT_EQ(*remote_address(fd.get()), own);
    const ConnectOutcome o = finish_connect(fd.get());
    EXPECT_EQ(o.err, ECONNREFUSED);
    EXPECT_TRUE(o.retry);
    fd.reset();
    // Without SO_REUSEADDR, which would look over what lingers.
    const Fd next(::socket(own.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(next.get(), own.sa(), own.length()), 0) << strerror(errno);
  }
}

TEST(Tcp, ListenerOnAnyIpv6AddressTakesIpv4Too) {
  Result<Fd> listener = listen_on(Address::any(AF_INET6, 0));
  if (!listener) GTEST_SKIP() << "no IPv6 here: " << listener.error().text();
  Result<Fd> out = start_connect(Address::loopback(local_address(listener->get())->port()));
  ASSERT_TRUE(out);
  wait_for(out->get(), POLLOUT);
  EXPECT_EQ(finish_connect(out->get()).err, 0);
}

TEST(Tcp, SecondListenerOnAPortIsRefusedByName) {
  Result<Fd> first = listen_on(Address::loopback(0));
  Result<Fd> second = listen_on(*local_address(first->get()));
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().text().find("cannot bind 127.0.0.1:"), std::string::npos) << second.error().text();
}

int send_buffer(int fd) {
  int size = 0;
  socklen_t len = sizeof size;
  EXPECT_EQ(getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, &len), 0);
  return size;
}

// 64 KiB: any net.core.wmem_max allows it. The kernel doubles what it is told.
TEST(Tcp, OnlyOnOneHostIsTheSendBufferKeptSmall) {
  constexpr int kBytes = 64 << 10;
  Pair p = connected();
  for (TcpStream* s : {p.a.get(), p.b.get()}) {
    keep_in_cache(s->fd(), kBytes);
    EXPECT_EQ(send_buffer(s->fd()), 2 * kBytes);
  }
  // Two addresses stand for two hosts.
  Result<Fd> listener = listen_on(*Address::numeric("127.0.0.2", 0));
  ASSERT_TRUE(listener);
  Result<Fd> out = start_connect(*local_address(listener->get()), Address::loopback(0));
  ASSERT_TRUE(out);
  wait_for(out->get(), POLLOUT);
  ASSERT_EQ(finish_connect(out->get()).err, 0);
  const int before = send_buffer(out->get());
  keep_in_cache(out->get(), kBytes);
  EXPECT_EQ(send_buffer(out->get()), before);
}

TEST(Tcp, ASendBufferThatWouldBeTooSmallIsLeftToTheKernel) {
  Pair p = connected();
  const int before = send_buffer(p.a->fd());
  keep_in_cache(p.a->fd(), 1 << 20, INT_MAX);
  EXPECT_EQ(send_buffer(p.a->fd()), before);
  // What a small net.core.wmem_max would leave of it: the kernel's own growth is not bounded by that, and is better.
  keep_in_cache(p.a->fd(), 16 << 10);
  EXPECT_EQ(send_buffer(p.a->fd()), before);
}

TEST(TcpStream, ScatterReadAndGatherWrite) {
  Pair p = connected();
  char x[] = "hello ", y[] = "world";
  iovec out[] = {{x, 6}, {y, 5}};
  IoResult w = p.a->writev(out, 2);
  ASSERT_TRUE(w.moved());
  EXPECT_EQ(w.bytes, 11u);
  wait_for(p.b->fd(), POLLIN);
  char head[3], rest[32];
  iovec in[] = {{head, 3}, {rest, sizeof rest}};
  IoResult r = p.b->readv(in, 2);
  ASSERT_TRUE(r.moved());
  EXPECT_EQ(std::string(head, 3) + std::string(rest, r.bytes - 3), "hello world");
  EXPECT_TRUE(p.b->readv(in, 2).would_block());
}

TEST(TcpStream, FullSocketWouldBlockThenClosedPeerIsSeenWithoutSignal) {
  Pair p = connected();
  std::vector<char> much(1 << 20);
  iovec out{much.data(), much.size()};
  IoResult w{};
  do w = p.a->writev(&out, 1);
  while (w.moved());
  EXPECT_TRUE(w.would_block());
  p.b.reset();  // unread bytes: the peer gets a reset
  wait_for(p.a->fd(), POLLOUT);
  do w = p.a->writev(&out, 1);
  while (w.moved());
  EXPECT_TRUE(w.broken());
  char c;
  iovec in{&c, 1};
  EXPECT_TRUE(p.a->readv(&in, 1).broken());
}

TEST(TcpStream, PeerIsNamed) {
  Pair p = connected();
  EXPECT_EQ(p.b->peer(), local_address(p.a->fd())->text());
}

TEST(Deadline, RoundsUpAndEnds) {
  EXPECT_EQ(Deadline::never().poll_ms(), -1);
  EXPECT_FALSE(Deadline::never().passed());
  Deadline past = Deadline::after(std::chrono::milliseconds(0));
  EXPECT_TRUE(past.passed());
  EXPECT_EQ(past.poll_ms(), 0);
  Deadline soon = Deadline::after(std::chrono::milliseconds(50000));
  EXPECT_GT(soon.poll_ms(), 49000);
  EXPECT_LE(soon.poll_ms(), 50001);
  EXPECT_EQ(soon.sooner(past).at(), past.at());
}

}  // namespace
}  // namespace fanin::tcp
