// A rank that fails after the ranks have agreed on reducers must not end up on NCCL's ring alone: NCCL takes no notice of the
// error of a collnet connect.
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include "plugin/collnet/frame_socket.h"
#include "plugin/collnet/rendezvous_wire.h"
#include "plugin/strict.h"
#include "tests/support/collnet_world.h"
#include "tests/support/log_capture.h"
#include "tests/support/no_descriptors.h"
#include "tests/support/no_threads.h"
#include "tests/support/tcp_pair.h"
#include "transport/tcp/socket.h"
#include "transport/tcp/tcp_stream.h"

namespace fanin {
namespace {

namespace cn = plugin::collnet;
using std::chrono::milliseconds;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Born where something is short: the communicator fails every call with what was short and how to raise it, and others learn.
class BornFailed : public testing::Test {
 protected:
  BornFailed() {
    auto [mine, reducers] = test::tcp_pair();
    lanes_[0].stream = std::make_unique<tcp::TcpStream>(std::move(mine));
    lanes_[0].reducer = "r0:4000";
    lanes_[0].block_bytes = 4096;
    lanes_[0].window_blocks = 4;
    reducer_ = std::move(reducers);
  }
  void start() {
    cn::CommConfig config;
    config.rank = 1;
    config.nranks = 2;
    config.io_threads = 1;
    comm_ = cn::Comm::start(config, std::move(lanes_), {1});
  }
  // What a call says.
  std::string failure() {
    if (!comm_) return "no communicator";
    float x = 1;
    Result<cn::Request*> r = cn::iallreduce(comm_.get(), &x, &x, 1, DType::kF32, RedOp::kSum);
    return r ? "none" : r.error().text();
  }
  void expect_told() {
    wire::SliceHeader said{};
    pollfd p{reducer_.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&p, 1, 5000), 1);
    ASSERT_EQ(::read(reducer_.get(), &said, sizeof said), static_cast<ssize_t>(sizeof said));
    EXPECT_EQ(said.type, wire::FrameType::kAbort);
  }

  std::vector<cn::LaneConnection> lanes_{1};
  Fd reducer_;
  std::unique_ptr<cn::Comm> comm_;
};

TEST_F(BornFailed, WithoutDescriptors) {
  {
    test::NoDescriptors none;
    start();
  }
  EXPECT_TRUE(has(failure(), "Too many open files (raise this process's limit on open files, ulimit -n)"))
      << failure();
  expect_told();
}

TEST_F(BornFailed, WithoutThreads) {
  if (!test::without_threads([this] { start(); })) GTEST_SKIP() << "no seccomp here";
  EXPECT_TRUE(has(failure(), "cannot start thread fanin-io-0") && has(failure(), "ulimit -u")) << failure();
  expect_told();
}

// Rank 0 vanishes between the ACK and the commit.
TEST(CollnetDoubt, ARankThatNeverHearsTheVerdictRefusesAllService) {
  test::CollnetWorld world(1);
  std::vector<std::unique_ptr<cn::Listener>> listeners;
  std::vector<cn::Handle> handles(2);
  std::vector<void*> pointers;
  for (cn::Handle& h : handles) {
    auto l = cn::open_listener(world.options(), test::loopback_device(), h);
    ASSERT_TRUE(l);
    listeners.push_back(std::move(*l));
    pointers.push_back(&h);
  }
  std::thread root([&] {
    Fd fd;
    for (pollfd p{listeners[0]->fd(), POLLIN, 0}; !fd && ::poll(&p, 1, 5000) > 0;)
      if (auto accepted = tcp::accept_from(listeners[0]->fd())) fd = std::move(*accepted);
    cn::FrameSocket s(std::move(fd));
    auto f = s.receive(Deadline::after(milliseconds(5000)));
    ASSERT_TRUE(f);
    auto report = cn::decode_report(f->body);
    ASSERT_TRUE(report && report->reached.size() == 1);
    cn::Verdict v;
    v.use = true;
    v.reducers = {report->reached[0].id};
    ASSERT_TRUE(
        s.send(cn::RendezvousType::kPropose, cn::encode_verdict(v), Deadline::after(milliseconds(5000))));
    ASSERT_TRUE(s.receive(Deadline::after(milliseconds(5000))));
  });
  EXPECT_TRUE(plugin::service_refused());
  auto comm = cn::connect_session(world.options(), pointers.data(), 2, 1, *listeners[1]);
  root.join();
  ASSERT_FALSE(comm);
  EXPECT_TRUE(has(comm.error().text(), "lost rank 0")) << comm.error().text();
  Status refused = plugin::service_refused();
  ASSERT_FALSE(refused);
  EXPECT_TRUE(has(refused.error().text(), "lost rank 0")) << refused.error().text();
}

}  // namespace
}  // namespace fanin
