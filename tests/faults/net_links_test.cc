// Point-to-point connections over links that fail: two hosts (namespaces), each behind a link that is cut or loses one
// direction. Connecting outlasts it within its deadline; a connection ends on both sides, in bounded time, naming the peer.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <optional>
#include <thread>

#include "plugin/net/connector.h"
#include "plugin/net/listen_comm.h"
#include "tests/faults/network.h"
#include "tests/support/net_pair.h"

namespace fanin::faults {
namespace {

namespace net = plugin::net;
using namespace std::chrono_literals;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kSilence{3000};  // the shortest that keep-alive can do
constexpr milliseconds kBound{20000};

Network& network() {
  static Network* const n = new Network;
  return *n;
}

tcp::Address host(int rank) { return *tcp::Address::numeric("10.77." + std::to_string(rank + 1) + ".2", 0); }

class NetLinks : public testing::Test {
 protected:
  void SetUp() override {
    if (!network().links()) GTEST_SKIP() << "no network namespaces: " << network().why_not();
    std::thread([this] {
      network().enter(0);
      listener_ = std::move(*net::ListenComm::open(host(0), 10000ms, secret_, kSilence));
    }).join();
  }
  void TearDown() override {
    if (connecting_.joinable()) connecting_.join();
    if (network().links()) network().heal();
  }
  // From host 1, in a thread of its own.
  void connect() {
    connecting_ = std::thread([this] {
      network().enter(1);
      net::Connector c({listener_->address(), host(1), listener_->nonce(), 2, 10000ms, secret_, kSilence});
      while (!send_) {
        auto s = c.progress();
        if (!s) {
          trouble_ = s.error().text();
          return;
        }
        send_ = std::move(*s);
        ++turns_;
        test::breathe();
      }
    });
  }
  void accept() {
    for (const auto until = Clock::now() + 12s; !recv_ && Clock::now() < until; test::breathe()) {
      auto r = listener_->accept();
      ASSERT_TRUE(r) << r.error().text();
      recv_ = std::move(*r);
    }
    if (connecting_.joinable()) connecting_.join();
    ASSERT_TRUE(recv_ && send_) << trouble_;
  }
  void lose(bool on) {
    network().set_loss(1, Flow::kUp, on);
    network().set_loss(1, Flow::kDown, on);
  }
  net::Request* post(void* data, size_t bytes) {
    int tag = 0;
    auto r = recv_->irecv(1, &data, &bytes, &tag);
    EXPECT_TRUE(r && *r);
    return r ? *r : nullptr;
  }
  net::Request* send(const std::vector<char>& data) {
    auto r = send_->isend(data.data(), data.size(), 0);
    EXPECT_TRUE(r && *r);
    return r ? *r : nullptr;
  }
  void expect_they_talk() {
    const std::vector<char> in = test::pattern(300000, 3);
    std::vector<char> out(in.size());
    Status st = test::finish({post(out.data(), out.size()), send(in)});
    ASSERT_TRUE(st) << st.error().text();
    EXPECT_TRUE(in == out);
  }
  // Tests both until each has ended with an error, in time.
  static void expect_both_lost(std::array<net::Request*, 2> requests) {
    const auto began = Clock::now();
    for (size_t left = requests.size(); left > 0; test::breathe()) {
      ASSERT_LT(Clock::now() - began, kBound) << left << " hang";
      for (net::Request*& r : requests) {
        if (!r) continue;
        auto done = net::test(r, nullptr);
        if (done) {
          ASSERT_FALSE(*done);
          continue;
        }
        EXPECT_EQ(done.error().code(), Errc::kRemote);
        EXPECT_NE(done.error().text().find("peer 10.77."), std::string::npos) << done.error().text();
        r = nullptr;
        --left;
      }
    }
  }

  const std::optional<Secret> secret_ = *Secret::make("secret-of-the-links-0123456789");
  std::unique_ptr<net::ListenComm> listener_;
  std::unique_ptr<net::SendComm> send_;
  std::unique_ptr<net::RecvComm> recv_;
  std::thread connecting_;
  std::atomic<unsigned> turns_{0};
  std::string trouble_;
};

// What is lost says nothing, what is unreachable says so (EHOSTUNREACH, ENETUNREACH): both pass.
TEST_F(NetLinks, ConnectingOutlastsABrokenWay) {
  for (bool lost : {true, false}) {
    lost ? lose(true) : network().set_link(0, false);
    connect();
    for (const auto until = Clock::now() + 300ms; Clock::now() < until; test::breathe()) {
      auto r = listener_->accept();
      ASSERT_TRUE(r && !*r);
    }
    EXPECT_GT(turns_, 0u);
    network().heal();
    ASSERT_NO_FATAL_FAILURE(accept());
    expect_they_talk();
    send_.reset();
    recv_.reset();
    turns_ = 0;
  }
}

TEST_F(NetLinks, AHostThatVanishesInTheMiddleOfATransfer) {
  connect();
  ASSERT_NO_FATAL_FAILURE(accept());
  expect_they_talk();
  const std::vector<char> in(256 << 20);
  std::vector<char> out(in.size());
  net::Request *receiving = post(out.data(), out.size()), *sending = send(in);
  for (int i = 0; i < 20; ++i)
    ASSERT_TRUE(*net::test(sending, nullptr) == false && net::test(receiving, nullptr));
  lose(true);
  expect_both_lost({sending, receiving});
}

TEST_F(NetLinks, AHostThatVanishesWhileNothingIsSaid) {
  connect();
  ASSERT_NO_FATAL_FAILURE(accept());
  expect_they_talk();
  std::unique_ptr<net::SendComm> first_send = std::move(send_);
  std::unique_ptr<net::RecvComm> first_recv = std::move(recv_);
  connect();
  ASSERT_NO_FATAL_FAILURE(accept());
  expect_they_talk();
  // One waits for a message, the other for leave to send one.
  char byte;
  void* data = &byte;
  size_t bytes = 1;
  int tag = 0;
  auto waiting = first_recv->irecv(1, &data, &bytes, &tag);
  ASSERT_TRUE(waiting && *waiting);
  const std::vector<char> in(100);
  net::Request* sending = send(in);
  ASSERT_FALSE(*net::test(sending, nullptr));
  // The credit is out and acknowledged before the link goes.
  for (const auto until = Clock::now() + 200ms; Clock::now() < until; test::breathe())
    ASSERT_TRUE(net::test(*waiting, nullptr));
  lose(true);
  expect_both_lost({*waiting, sending});
}

// Data arrives, and no acknowledgement comes back.
TEST_F(NetLinks, AOneWayLink) {
  connect();
  ASSERT_NO_FATAL_FAILURE(accept());
  expect_they_talk();
  const std::vector<char> in(256 << 20);
  std::vector<char> out(in.size());
  net::Request *receiving = post(out.data(), out.size()), *sending = send(in);
  for (int i = 0; i < 20; ++i)
    ASSERT_TRUE(*net::test(sending, nullptr) == false && net::test(receiving, nullptr));
  network().set_loss(1, Flow::kDown, true);
  expect_both_lost({sending, receiving});
}

}  // namespace
}  // namespace fanin::faults
