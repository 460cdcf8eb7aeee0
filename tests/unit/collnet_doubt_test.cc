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
#include "tests/support/tcp_pair.h"
#include "transport/tcp/socket.h"
#include "transport/tcp/tcp_stream.h"

namespace fanin {
namespace {

namespace cn = plugin::collnet;
using std::chrono::milliseconds;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(CollnetDoubt, WithoutDescriptorsTheCommunicatorIsBornFailedAndOthersLearn) {
  auto [mine, reducers] = test::tcp_pair();
  std::vector<cn::LaneConnection> lanes(1);
  lanes[0].stream = std::make_unique<tcp::TcpStream>(std::move(mine));
  lanes[0].reducer = "r0:4000";
  lanes[0].block_bytes = 4096;
  lanes[0].window_blocks = 4;
  cn::CommConfig config;
  config.rank = 1;
  config.nranks = 2;
  std::unique_ptr<cn::Comm> comm;
  {
    test::NoDescriptors none;
    comm = cn::Comm::start(config, std::move(lanes), {1});
  }
  ASSERT_NE(comm, nullptr);
  float x = 1;
  Result<cn::Request*> r = cn::iallreduce(comm.get(), &x, &x, 1, DType::kF32, RedOp::kSum);
  ASSERT_FALSE(r);
  EXPECT_TRUE(has(r.error().text(), "Too many open files")) << r.error().text();
  wire::SliceHeader said{};
  pollfd p{reducers.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&p, 1, 5000), 1);
  ASSERT_EQ(::read(reducers.get(), &said, sizeof said), static_cast<ssize_t>(sizeof said));
  EXPECT_EQ(said.type, wire::FrameType::kAbort);
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
