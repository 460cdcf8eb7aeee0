// Making point-to-point connections: no call waits for another, and strangers disturb nobody.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>
#include <set>
#include <thread>

#include "plugin/net/connector.h"
#include "plugin/net/handle.h"
#include "plugin/net/listen_comm.h"
#include "tests/support/descriptors.h"
#include "tests/support/held_port.h"
#include "tests/support/net_pair.h"
#include "tests/support/no_descriptors.h"
#include "tests/support/tcp_pair.h"

namespace fanin::test {
namespace {

using namespace std::chrono_literals;
using net::Connector;
using net::Hello;
using net::ListenComm;

class NetConnect : public testing::Test {
 protected:
  static void SetUpTestSuite() { use_loopback("3"); }
};

Connector::Plan plan_for(const ListenComm& l, int data_sockets = 2) {
  return {l.address(), tcp::Address::loopback(0), l.nonce(), data_sockets, 10000ms};
}

std::unique_ptr<ListenComm> open_listener(std::chrono::milliseconds hello_timeout = 10000ms,
                                          const tcp::Address& at = tcp::Address::loopback(0)) {
  auto l = ListenComm::open(at, hello_timeout);
  EXPECT_TRUE(l) << l.error().text();
  return l ? std::move(*l) : nullptr;
}

void write_hello(int fd, const Hello& h, size_t bytes = sizeof(Hello)) {
  ASSERT_EQ(::send(fd, &h, bytes, MSG_NOSIGNAL), static_cast<ssize_t>(bytes));
}

TEST_F(NetConnect, EightInterleavedBeforeAnyAccept) {
  char handle[net::kHandleBytes], copies[8][net::kHandleBytes];
  auto l = net::listen(0, handle);
  ASSERT_TRUE(l);
  for (auto& c : copies) memcpy(c, handle, sizeof handle);
  net::SendComm* senders[8] = {};
  for (int left = 8; left;)
    for (int i = 0; i < 8; i++) {
      if (senders[i]) continue;
      auto s = net::connect(0, copies[i]);
      ASSERT_TRUE(s) << s.error().text();
      if ((senders[i] = *s)) left--;
    }
  std::set<int> seen;
  int ids[8], got[8];
  std::vector<net::RecvComm*> receivers;
  std::vector<net::Request*> requests;
  for (int i = 0; i < 8; i++) {
    net::RecvComm* r = nullptr;
    while (!r) {
      auto a = net::accept(*l);
      ASSERT_TRUE(a) << a.error().text();
      r = *a;
    }
    receivers.push_back(r);
    ids[i] = i;
    requests.push_back(*post(r, &got[i], sizeof(int), 0));
    requests.push_back(*net::isend(senders[i], &ids[i], sizeof(int), 0, nullptr));
  }
  ASSERT_TRUE(finish(requests));
  for (int id : got) seen.insert(id);
  EXPECT_EQ(seen.size(), 8u);
  for (auto* s : senders) EXPECT_TRUE(net::close_send(s));
  for (auto* r : receivers) EXPECT_TRUE(net::close_recv(r));
  EXPECT_TRUE(net::close_listen(*l));
}

TEST_F(NetConnect, AHandleMayBeConnectedToAgain) {
  NetPair a;
  ASSERT_NO_FATAL_FAILURE(a.connect());
  NetPair b;
  b.listener = std::exchange(a.listener, nullptr);
  ASSERT_NO_FATAL_FAILURE(b.connect_to(a.handle));
  ASSERT_NO_FATAL_FAILURE(b.accept());
}

TEST_F(NetConnect, SocketsOfTwoConnectionsMayMix) {
  auto l = open_listener();
  // Sockets of both arrive in turns: 0 of a, 1 of b, 2 of a ... and the rest the other way round.
  std::vector<Fd> fds;
  for (int round = 0; round < 2; round++)
    for (uint16_t i = 0; i < 4; i++) {
      Hello h;
      h.index = round ? static_cast<uint16_t>(3 - i) : i;
      h.count = 4;
      h.nonce = l->nonce();
      h.connection = (h.index % 2 == 0) != (round == 1) ? 111 : 222;
      fds.push_back(dial(l->address()));
      write_hello(fds.back().get(), h);
      if (fds.size() < 7) {
        auto r = l->accept();
        ASSERT_TRUE(r);
        EXPECT_EQ(*r, nullptr) << "after " << fds.size() << " sockets";
      }
    }
  EXPECT_NE(finish_accept(*l), nullptr);
  EXPECT_NE(finish_accept(*l), nullptr);
}

TEST_F(NetConnect, StrangersAreDroppedAndDisturbNobody) {
  auto l = open_listener();
  std::vector<Fd> strangers;
  auto stranger = [&] { return strangers.emplace_back(dial(l->address())).get(); };
  const char http[] = "GET /metrics HTTP/1.1\r\n\r\n";
  ASSERT_GT(::send(stranger(), http, sizeof http, MSG_NOSIGNAL), 0);
  Hello good;
  good.count = 2;
  good.nonce = l->nonce();
  good.connection = 1;
  Hello bad = good;
  bad.nonce++;
  write_hello(stranger(), bad);
  bad = good;
  bad.version++;
  write_hello(stranger(), bad);
  bad = good;
  bad.index = 2;
  write_hello(stranger(), bad);
  for (uint16_t count : {uint16_t{0}, uint16_t{1}, uint16_t{18}, uint16_t{65535}}) {
    bad = good;
    bad.count = count;
    write_hello(stranger(), bad);
  }
  Fd silent = dial(l->address()), half = dial(l->address());
  write_hello(half.get(), good, 20);
  { Fd gone = dial(l->address()); }

  Connector c(plan_for(*l));
  auto s = finish_connect(c);
  auto r = finish_accept(*l);
  ASSERT_TRUE(s && r);
  expect_they_talk(*s, *r);
  for (Fd& fd : strangers) EXPECT_TRUE(closed_by_peer(fd.get()));
  char byte;
  EXPECT_LT(::recv(silent.get(), &byte, 1, MSG_DONTWAIT), 0) << "a slow one still has time";
}

TEST_F(NetConnect, SilentOnesAreDroppedInTime) {
  auto l = open_listener(20ms);
  Fd silent = dial(l->address()), half = dial(l->address());
  write_hello(half.get(), Hello(), 8);
  for (Fd* fd : {&silent, &half})
    for (char byte; ::recv(fd->get(), &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN; breathe())
      ASSERT_TRUE(l->accept());
}

TEST_F(NetConnect, OnlySoManySilentOnesAreKept) {
  auto l = open_listener();
  std::vector<Fd> silent;
  const size_t before = open_descriptors();
  for (int i = 0; i < 300; i++) {
    silent.push_back(dial(l->address()));
    if (i % 50 == 49) {
      ASSERT_TRUE(l->accept());
    }
  }
  EXPECT_TRUE(closed_by_peer(silent[0].get()));
  EXPECT_LE(open_descriptors(), before + 300 + 256 + 1);
  Connector c(plan_for(*l));
  auto s = finish_connect(c);
  auto r = finish_accept(*l);
  ASSERT_TRUE(s && r);
  expect_they_talk(*s, *r);
}

TEST_F(NetConnect, AConnectionThatDiedHalfWayIsForgotten) {
  auto l = open_listener();
  const size_t before = open_descriptors();
  {
    Hello h;
    h.count = 3;
    h.nonce = l->nonce();
    h.connection = 5;
    Fd only = dial(l->address());
    write_hello(only.get(), h);
    while (open_descriptors() < before + 2) ASSERT_TRUE(l->accept());
  }
  while (open_descriptors() > before) ASSERT_TRUE(l->accept());
  Connector c(plan_for(*l));
  auto s = finish_connect(c);
  EXPECT_NE(finish_accept(*l), nullptr);
}

TEST_F(NetConnect, RefusedUntilTheListenerIsUp) {
  const HeldPort late;
  Connector c({late.address(), tcp::Address::loopback(0), 1, 1, 10000ms});
  for (int i = 0; i < 20; i++) {
    auto s = c.progress();
    ASSERT_TRUE(s) << s.error().text();
    ASSERT_EQ(*s, nullptr);
  }
  ASSERT_EQ(::listen(late.fd(), 8), 0);
  EXPECT_NE(finish_connect(c), nullptr);
}

// Whether a connection whose first SYNs are lost is made before the kernel repeats them.
bool outruns_the_kernel() {
  Fd busy(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  tcp::Address at = tcp::Address::loopback(0);
  if (::bind(busy.get(), at.sa(), at.length()) != 0 || ::listen(busy.get(), 0) != 0) abort();
  at = *tcp::local_address(busy.get());
  Fd first = dial(at);  // fills the queue: the kernel drops what comes now
  Connector::Plan plan{at, tcp::Address::loopback(0), 1, 1, 950ms};
  plan.patience = 50ms;
  Connector c(plan);
  const auto until = std::chrono::steady_clock::now() + 100ms;
  while (std::chrono::steady_clock::now() < until) {
    auto s = c.progress();
    EXPECT_TRUE(s && !*s) << "while nothing gets through";
    breathe();
  }
  std::vector<Fd> taken;
  std::unique_ptr<net::SendComm> made;
  while (!made) {
    if (Fd fd = std::move(*tcp::accept_from(busy.get())); fd) taken.push_back(std::move(fd));
    auto s = c.progress();
    if (!s) return false;
    made = std::move(*s);
  }
  return true;
}

// A SYN that is lost is repeated by the kernel after a second at the earliest; a new attempt comes sooner, where nothing
// delays this process for that long.
TEST_F(NetConnect, ALostSynIsNotWaitedFor) {
  bool sooner = false;
  for (int attempt = 0; attempt < 10 && !sooner; ++attempt) sooner = outruns_the_kernel();
  EXPECT_TRUE(sooner);
}

TEST_F(NetConnect, GivesUpAtTheDeadline) {
  const HeldPort never;
  Connector c({never.address(), tcp::Address::loopback(0), 1, 1, 100ms});
  for (;; breathe()) {
    auto s = c.progress();
    if (s) {
      ASSERT_EQ(*s, nullptr);
      continue;
    }
    EXPECT_EQ(s.error().code(), Errc::kRemote);
    for (const std::string& word : {never.text(), std::string("100 ms"), std::string("refused")})
      EXPECT_NE(s.error().text().find(word), std::string::npos) << word << " in: " << s.error().text();
    break;
  }
}

// The sender ended before it connected, or has another plugin: NCCL calls accept until it is told.
TEST_F(NetConnect, WhoNeverComesIsNotAcceptedForEver) {
  auto l = ListenComm::open(tcp::Address::loopback(0), 10000ms, std::nullopt, tcp::kKeepAlive, std::nullopt,
                            100ms);
  ASSERT_TRUE(l) << l.error().text();
  const auto begun = std::chrono::steady_clock::now();
  Result<std::unique_ptr<net::RecvComm>> r = (*l)->accept();
  for (; r; breathe(), r = (*l)->accept()) ASSERT_EQ(*r, nullptr);
  EXPECT_GE(std::chrono::steady_clock::now() - begun, 100ms);
  EXPECT_EQ(r.error().code(), Errc::kRemote);
  for (const std::string& word : {(*l)->address().text(), std::string("100 ms (FANIN_TIMEOUT_MS)")})
    EXPECT_NE(r.error().text().find(word), std::string::npos) << word << " in: " << r.error().text();
  EXPECT_FALSE((*l)->accept());

  // Who comes after all is taken, and the wait for the next one begins anew.
  Connector c(plan_for(**l));
  auto s = finish_connect(c);
  ASSERT_TRUE(s);
  do breathe(), r = (*l)->accept();
  while (!r);
  ASSERT_NE(*r, nullptr);
  expect_they_talk(*s, **r);
  const auto next = (*l)->accept();
  ASSERT_TRUE(next) << next.error().text();
  EXPECT_EQ(*next, nullptr);
}

TEST_F(NetConnect, Ipv6) {
  auto l = ListenComm::open(*tcp::Address::numeric("::1", 0), 1000ms);
  if (!l) GTEST_SKIP() << "no IPv6 loopback here: " << l.error().text();
  Connector c({(*l)->address(), *tcp::Address::numeric("::1", 0), (*l)->nonce(), 2, 10000ms});
  auto s = finish_connect(c);
  auto r = finish_accept(**l);
  ASSERT_TRUE(s && r);
  expect_they_talk(*s, *r);
}

TEST_F(NetConnect, BadHandlesAndDevices) {
  char handle[net::kHandleBytes];
  memset(handle, 0x5a, sizeof handle);
  auto s = net::connect(0, handle);
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().code(), Errc::kInvalidArgument);
  for (int dev : {-1, 1}) {
    auto l = net::listen(dev, handle);
    ASSERT_FALSE(l);
    EXPECT_EQ(l.error().code(), Errc::kInvalidArgument);
    EXPECT_NE(l.error().text().find("there are 1"), std::string::npos) << l.error().text();
  }
}

TEST_F(NetConnect, CommsOfManyThreads) {
  // One thread's connect goes on while another's begins; a pair may be used by one thread per side.
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++)
    threads.emplace_back([t] {
      for (int round = 0; round < 5; round++) {
        NetPair p;
        ASSERT_NO_FATAL_FAILURE(p.connect());
        std::vector<char> in = pattern(200000, static_cast<uint32_t>(t)), out(in.size());
        std::thread sender([&] {
          auto s = net::isend(p.send, in.data(), in.size(), 0, nullptr);
          EXPECT_TRUE(s && finish({*s}));
        });
        auto r = post(p.recv, out.data(), out.size(), 0);
        EXPECT_TRUE(r && finish({*r}));
        sender.join();
        EXPECT_TRUE(in == out);
      }
    });
  for (std::thread& t : threads) t.join();
}

TEST_F(NetConnect, NothingLeaks) {
  const size_t before = open_descriptors();
  for (int i = 0; i < 3; i++) {
    NetPair p;
    ASSERT_NO_FATAL_FAILURE(p.connect());
    EXPECT_EQ(open_descriptors(), before + 1 + 2 * 4);
  }
  EXPECT_EQ(open_descriptors(), before);
}

// One of ours that is here and has yet to say so is not taken for a stranger the moment descriptors are short.
TEST_F(NetConnect, WithoutDescriptorsWhoHasJustComeIsKept) {
  auto l = open_listener();
  const auto begun = std::chrono::steady_clock::now();
  const Fd first = dial(l->address());
  ASSERT_TRUE(l->accept());
  const Fd second = dial(l->address());
  {
    const NoDescriptors left;
    ASSERT_TRUE(l->accept());
  }
  char byte;
  const bool open = ::recv(first.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
  EXPECT_TRUE(open || std::chrono::steady_clock::now() - begun >= 200ms);
}

// Strangers who hold the last descriptors give them up for whoever comes, and with nobody there is no error.
TEST_F(NetConnect, StrangersHoldNoDescriptorThatIsNeeded) {
  auto l = open_listener();
  std::vector<Fd> strangers;
  for (int i = 0; i < 10; i++) strangers.push_back(dial(l->address()));
  ASSERT_TRUE(l->accept());  // holds them
  Connector c(plan_for(*l));
  std::unique_ptr<net::SendComm> sender;
  while (!sender) {
    auto s = c.progress();
    ASSERT_TRUE(s) << s.error().text();
    sender = std::move(*s);
  }
  const NoDescriptors left;
  std::unique_ptr<net::RecvComm> receiver;
  while (!receiver) {
    auto r = l->accept();
    ASSERT_TRUE(r) << r.error().text();
    receiver = std::move(*r);
  }
  auto nobody = l->accept();
  EXPECT_TRUE(nobody && !*nobody);
}

}  // namespace
}  // namespace fanin::test
