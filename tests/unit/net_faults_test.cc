// Ends of point-to-point connections: clean, early, violent. Nothing hangs, nothing that was sent is lost,
// and the peer is named.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <cstring>

#include "plugin/net/recv_comm.h"
#include "plugin/net/send_comm.h"
#include "tests/support/descriptors.h"
#include "tests/support/net_pair.h"
#include "tests/support/soon.h"
#include "tests/support/tcp_pair.h"

namespace fanin::test {
namespace {

class NetFaults : public testing::Test {
 protected:
  static void SetUpTestSuite() { use_loopback("3"); }
};

void expect_lost(const Error& e) {
  EXPECT_EQ(e.code(), Errc::kRemote) << e.text();
  EXPECT_NE(e.text().find("127.0.0.1:"), std::string::npos) << e.text();
}

// Until the comm says that the peer is gone; every later call must say the same.
void expect_send_fails(net::SendComm* c, const std::vector<char>& data) {
  Error first(Errc::kInternal, "none");
  for (;; breathe()) {
    auto s = net::isend(c, data.data(), data.size(), 0, nullptr);
    Status st = !s ? Status(s.error()) : *s ? finish({*s}) : Status();
    if (st) continue;
    first = st.error();
    break;
  }
  expect_lost(first);
  auto again = net::isend(c, data.data(), data.size(), 0, nullptr);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().text(), first.text());
}

void expect_receive_fails(net::RecvComm* c) {
  char byte;
  Error first(Errc::kInternal, "none");
  for (;; breathe()) {
    auto r = post(c, &byte, 1, 0);
    Status st = !r ? Status(r.error()) : *r ? finish({*r}) : Status();
    if (st) continue;
    first = st.error();
    break;
  }
  expect_lost(first);
  auto again = post(c, &byte, 1, 0);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), Errc::kRemote);
}

TEST_F(NetFaults, WhatWasSentArrivesThoughTheSenderIsGone) {
  for (int round = 0; round < 20; round++) {
    NetPair p;
    ASSERT_NO_FATAL_FAILURE(p.connect());
    std::vector<char> in = pattern(150000, static_cast<uint32_t>(round)), out(in.size()), more(10);
    auto r = post(p.recv, out.data(), out.size(), 0);
    ASSERT_TRUE(r);
    auto s = net::isend(p.send, in.data(), in.size(), 0, nullptr);
    ASSERT_TRUE(s);
    ASSERT_TRUE(finish({*s}));
    // Credits the sender never reads: closing its control socket then resets it.
    auto r2 = post(p.recv, more.data(), more.size(), 0);
    ASSERT_TRUE(r2);
    p.close_send();
    if (round % 2) (void)post(p.recv, more.data(), more.size(), 0);
    ASSERT_TRUE(finish({*r}));
    EXPECT_TRUE(in == out);
    Status st = finish({*r2});
    ASSERT_FALSE(st);
    expect_lost(st.error());
  }
}

TEST_F(NetFaults, ACleanCloseIsNoErrorUntilUsed) {
  NetPair p;
  ASSERT_NO_FATAL_FAILURE(p.connect());
  std::vector<char> in(100), out(100);
  auto r = post(p.recv, out.data(), out.size(), 0);
  auto s = net::isend(p.send, in.data(), in.size(), 0, nullptr);
  ASSERT_TRUE(r && s);
  ASSERT_TRUE(finish({*s}));
  p.close_send();
  ASSERT_TRUE(finish({*r}));
  expect_receive_fails(p.recv);

  NetPair q;
  ASSERT_NO_FATAL_FAILURE(q.connect());
  q.close_recv();
  expect_send_fails(q.send, in);
}

TEST_F(NetFaults, ASendWithoutReceiveFailsWhenTheReceiverCloses) {
  NetPair p;
  ASSERT_NO_FATAL_FAILURE(p.connect());
  std::vector<char> in(100);
  auto s = net::isend(p.send, in.data(), in.size(), 0, nullptr);
  ASSERT_TRUE(s);
  ASSERT_FALSE(*net::test(*s, nullptr));
  p.close_recv();
  Status st = finish({*s});
  ASSERT_FALSE(st);
  expect_lost(st.error());
}

TEST_F(NetFaults, AForkedChildThatHoldsTheDescriptorsHidesNoClose) {
  NetPair p, q;
  ASSERT_NO_FATAL_FAILURE(p.connect());
  ASSERT_NO_FATAL_FAILURE(q.connect());
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0)
    for (;;) pause();
  p.close_send();
  expect_receive_fails(p.recv);
  q.close_recv();
  expect_send_fails(q.send, std::vector<char>(1 << 20));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

// A rank that dies after it forked (a DataLoader's workers) is noticed, though its child goes on.
TEST_F(NetFaults, AForkedChildHidesNoDeath) {
  NetPair p;
  auto l = net::listen(0, p.handle);
  ASSERT_TRUE(l);
  p.listener = *l;
  int pipe_of_orphan[2], accepted[2];
  ASSERT_EQ(pipe(pipe_of_orphan), 0);
  ASSERT_EQ(pipe(accepted), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    NetPair c;
    c.connect_to(p.handle);
    const pid_t orphan = fork();
    if (orphan == 0)
      for (;;) pause();
    char go;
    _exit(write(pipe_of_orphan[1], &orphan, sizeof orphan) != sizeof orphan ||
          read(accepted[0], &go, 1) != 1);  // no destructor says goodbye
  }
  pid_t orphan = 0;
  ASSERT_NO_FATAL_FAILURE(p.accept());
  ASSERT_EQ(write(accepted[1], "", 1), 1);
  ASSERT_EQ(read(pipe_of_orphan[0], &orphan, sizeof orphan), ssize_t{sizeof orphan});
  expect_receive_fails(p.recv);
  kill(orphan, SIGKILL);
  waitpid(child, nullptr, 0);
  for (const int fd : {pipe_of_orphan[0], pipe_of_orphan[1], accepted[0], accepted[1]}) close(fd);
}

// Both sides may wait for all their sends before they test a receive: a credit that waited for more would hang them.
TEST_F(NetFaults, APostedReceiveNeedsNoTestForItsSendToEnd) {
  NetPair p;
  ASSERT_NO_FATAL_FAILURE(p.connect());
  char in[net::kMaxRequests] = {}, out[net::kMaxRequests] = {};
  std::vector<net::Request*> receives, sends;
  for (char& byte : out) {
    auto r = post(p.recv, &byte, 1, 7);
    ASSERT_TRUE(r && *r);
    receives.push_back(*r);
  }
  for (char& byte : in) {
    auto s = net::isend(p.send, &byte, 1, 7, nullptr);
    ASSERT_TRUE(s && *s);
    sends.push_back(*s);
  }
  ASSERT_TRUE(finish(sends));
  ASSERT_TRUE(finish(receives));
}

TEST_F(NetFaults, CloseWithRequestsInFlightIsPromptAndLeaksNothing) {
  const size_t before = open_descriptors();
  std::vector<char> in(8 << 20), out(8 << 20);
  for (int round = 0; round < 4; round++) {
    NetPair p;
    ASSERT_NO_FATAL_FAILURE(p.connect());
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 8; i++) {
      if (round != 1) {
        ASSERT_TRUE(post(p.recv, out.data(), out.size(), i));
      }
      if (round != 2) {
        ASSERT_TRUE(net::isend(p.send, in.data(), in.size(), i, nullptr));
      }
    }
    if (round == 3) p.close_recv();
    p.close_send();
    p.close_recv();
    EXPECT_LT(std::chrono::steady_clock::now() - start, kSoon);
  }
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_TRUE(net::close_send(nullptr));
  EXPECT_TRUE(net::close_recv(nullptr));
  EXPECT_TRUE(net::close_listen(nullptr));
}

// A process that dies in the middle. The child runs body and then waits for its death.
template <class Body>
pid_t in_child(Body body) {
  pid_t child = fork();
  if (child == 0) {
    body();
    for (;;) pause();
  }
  return child;
}

TEST_F(NetFaults, SenderKilledInTheMiddle) {
  NetPair p;
  auto l = net::listen(0, p.handle);
  ASSERT_TRUE(l);
  p.listener = *l;
  std::vector<char> big(64 << 20);
  pid_t child = in_child([&] {
    NetPair c;
    c.connect_to(p.handle);
    int hello = 42;
    (void)finish({*net::isend(c.send, &hello, sizeof hello, 1, nullptr)});
    (void)finish({*net::isend(c.send, big.data(), big.size() / 2, 2, nullptr)});
    for (;;) pause();
  });
  ASSERT_GE(child, 0);
  ASSERT_NO_FATAL_FAILURE(p.accept());
  int hello = 0;
  ASSERT_TRUE(finish({*post(p.recv, &hello, sizeof hello, 1)}));
  EXPECT_EQ(hello, 42);
  auto half = post(p.recv, big.data(), big.size(), 2), never = post(p.recv, big.data(), big.size(), 3);
  ASSERT_TRUE(half && never);
  ASSERT_TRUE(finish({*half}));
  ASSERT_FALSE(*net::test(*never, nullptr));
  auto start = std::chrono::steady_clock::now();
  kill(child, SIGKILL);
  Status st = finish({*never});
  EXPECT_LT(std::chrono::steady_clock::now() - start, kSoon);
  ASSERT_FALSE(st);
  expect_lost(st.error());
  waitpid(child, nullptr, 0);
}

TEST_F(NetFaults, ReceiverKilledInTheMiddle) {
  for (bool posted : {false, true}) {
    char handle[net::kHandleBytes];
    auto l = net::listen(0, handle);
    ASSERT_TRUE(l);
    std::vector<char> big(64 << 20);
    pid_t child = in_child([&] {
      NetPair c;
      c.listener = *l;
      c.accept();
      int hello = 0;
      (void)finish({*post(c.recv, &hello, sizeof hello, 1)});
      // Never tested: the sender runs against full socket buffers.
      if (posted) (void)post(c.recv, big.data(), big.size(), 2);
      for (;;) pause();
    });
    ASSERT_GE(child, 0);
    EXPECT_TRUE(net::close_listen(*l));
    NetPair p;
    ASSERT_NO_FATAL_FAILURE(p.connect_to(handle));
    int hello = 42;
    ASSERT_TRUE(finish({*net::isend(p.send, &hello, sizeof hello, 1, nullptr)}));
    auto s = net::isend(p.send, big.data(), big.size(), 2, nullptr);
    ASSERT_TRUE(s);
    for (int i = 0; i < 50; i++) ASSERT_FALSE(*net::test(*s, nullptr));
    auto start = std::chrono::steady_clock::now();
    kill(child, SIGKILL);
    Status st = finish({*s});
    EXPECT_LT(std::chrono::steady_clock::now() - start, kSoon);
    ASSERT_FALSE(st);
    expect_lost(st.error());
    waitpid(child, nullptr, 0);
  }
}

// Peers that speak nonsense: a raw socket stands for each.
struct RawPeer {
  std::vector<Fd> far;
  std::vector<std::unique_ptr<Stream>> near;
  explicit RawPeer(int sockets) {
    for (int i = 0; i < sockets; i++) {
      auto [a, b] = tcp_pair();
      near.push_back(std::make_unique<tcp::TcpStream>(std::move(a)));
      far.push_back(std::move(b));
    }
  }
  void write(size_t socket, const void* data, size_t bytes) {
    ASSERT_EQ(::send(far[socket].get(), data, bytes, MSG_NOSIGNAL), static_cast<ssize_t>(bytes));
  }
};

TEST_F(NetFaults, ABrokenReceiverIsReported) {
  for (net::Credit bad :
       {net::Credit{0, 99, 1}, net::Credit{0, 0, 0}, net::Credit{0, 0, 9}, net::Credit{0, 0, 0xffff}}) {
    RawPeer peer(2);
    net::SendComm comm(std::move(peer.near));
    char filler[256] = {};
    memcpy(filler, &bad, sizeof bad);
    peer.write(0, filler, sizeof filler);
    auto s = comm.isend(filler, 1, 0);
    Status st = s ? finish({*s}) : Status(s.error());
    ASSERT_FALSE(st);
    expect_lost(st.error());
    EXPECT_NE(st.error().text().find("broke the protocol"), std::string::npos) << st.error().text();
  }
}

TEST_F(NetFaults, ABrokenSenderIsReported) {
  for (int kind = 0; kind < 3; kind++) {
    RawPeer peer(3);
    net::RecvComm comm(std::move(peer.near));
    char out[64], filler[256] = {};
    void* data = out;
    size_t bytes = sizeof out;
    int tag = 0;
    auto r = comm.irecv(1, &data, &bytes, &tag);
    ASSERT_TRUE(r);
    net::Chunk c;
    c.total = 10;
    c.length = kind == 0 ? 11 : 10;
    c.slot = kind == 1 ? 5 : 0;
    memcpy(filler, &c, sizeof c);
    // The last one is proper but ends in the middle of its payload.
    peer.write(2, filler, kind == 2 ? sizeof c + 4 : sizeof filler);
    if (kind == 2) peer.far[2].reset();
    Status st = finish({*r});
    ASSERT_FALSE(st);
    expect_lost(st.error());
    EXPECT_NE(st.error().text().find(kind == 2 ? "middle of a message" : "broke the protocol"),
              std::string::npos)
        << st.error().text();
  }
}

// A stream whose peer's host has vanished with data on its way: the kernel says nothing for a quarter of an hour.
class VanishedHost final : public Stream {
 public:
  VanishedHost(Fd fd, const std::chrono::milliseconds* silent) : stream_(std::move(fd)), silent_(silent) {}
  IoResult readv(const iovec* iov, int n) override { return stream_.readv(iov, n); }
  IoResult writev(const iovec* iov, int n) override { return stream_.writev(iov, n); }
  int fd() const override { return stream_.fd(); }
  const std::string& peer() const override { return stream_.peer(); }
  std::chrono::milliseconds unanswered() const override { return *silent_; }

 private:
  tcp::TcpStream stream_;
  const std::chrono::milliseconds* silent_;
};

TEST_F(NetFaults, AHostThatAnswersNothingIsGivenUp) {
  using std::chrono::milliseconds;
  for (bool sending : {true, false}) {
    milliseconds silent{0};
    std::vector<std::unique_ptr<Stream>> near;
    std::vector<Fd> far;
    for (int i = 0; i < 2; i++) {
      auto [a, b] = tcp_pair();
      near.push_back(std::make_unique<VanishedHost>(std::move(a), &silent));
      far.push_back(std::move(b));
    }
    std::optional<net::SendComm> sender;
    std::optional<net::RecvComm> receiver;
    char byte = 0;
    void* data = &byte;
    size_t bytes = 1;
    int tag = 0;
    net::Request* request = nullptr;
    if (sending) {
      sender.emplace(std::move(near), std::nullopt, milliseconds(30000));
      request = *sender->isend(&byte, 1, 0);
    } else {
      receiver.emplace(std::move(near), std::nullopt, milliseconds(30000));
      request = *receiver->irecv(1, &data, &bytes, &tag);
    }
    ASSERT_NE(request, nullptr);
    silent = milliseconds(29999);  // may still come back
    const auto until = std::chrono::steady_clock::now() + milliseconds(600);
    while (std::chrono::steady_clock::now() < until) ASSERT_TRUE(net::test(request, nullptr));
    silent = milliseconds(30000);
    Status st = finish({request});
    ASSERT_FALSE(st);
    expect_lost(st.error());
    EXPECT_NE(st.error().text().find("its host has answered nothing for 30000 ms"), std::string::npos)
        << st.error().text();
  }
}

TEST_F(NetFaults, CreditsAndChunksInSingleBytes) {
  RawPeer to(2), from(2);
  net::SendComm sender(std::move(to.near));
  net::RecvComm receiver(std::move(from.near));
  // Two credits, then the chunks the sender makes of them, each relayed a byte at a time.
  std::vector<char> in = pattern(100, 1), out(100), out2(7);
  void* data[2] = {out.data(), out2.data()};
  size_t sizes[2] = {out.size(), out2.size()};
  int tags[2] = {1, 2};
  auto r1 = receiver.irecv(1, &data[0], &sizes[0], &tags[0]),
       r2 = receiver.irecv(1, &data[1], &sizes[1], &tags[1]);
  auto s2 = sender.isend(in.data(), 7, 2), s1 = sender.isend(in.data(), 100, 1);
  ASSERT_TRUE(r1 && r2 && s1 && s2);
  net::Request* open[4] = {*s1, *s2, *r1, *r2};
  for (int left = 4; left; breathe()) {
    char byte;
    if (::recv(from.far[0].get(), &byte, 1, MSG_DONTWAIT) == 1) to.write(0, &byte, 1);
    if (::recv(to.far[1].get(), &byte, 1, MSG_DONTWAIT) == 1) from.write(1, &byte, 1);
    for (net::Request*& r : open) {
      if (!r) continue;
      auto done = net::test(r, nullptr);
      ASSERT_TRUE(done) << done.error().text();
      if (*done) r = nullptr, left--;
    }
  }
  EXPECT_TRUE(in == out);
  EXPECT_EQ(memcmp(in.data(), out2.data(), 7), 0);
}

}  // namespace
}  // namespace fanin::test
