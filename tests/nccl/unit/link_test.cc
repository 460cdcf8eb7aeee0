#include "tests/nccl/device/kernel/link.h"

#include <cstring>

#include "tests/nccl/unit/fabric.h"

namespace cpudev::test {
namespace {

struct Pair {
  Wire wire;
  abi::ConnInfo send{}, recv{};
  Pair() { wire.join(&send, &recv); }
};

TEST(Link, EightStepsOfCredit) {
  Pair p;
  Link send(&p.send, Link::Direction::kSend, 1, 0), recv(&p.recv, Link::Direction::kRecv, 1, 0);
  for (int i = 0; i < abi::kSteps; i++) {
    ASSERT_TRUE(send.ready(1));
    send.post(1, 0);
  }
  EXPECT_FALSE(send.ready(1));
  EXPECT_TRUE(recv.ready(abi::kSteps));
  EXPECT_FALSE(recv.ready(abi::kSteps + 1));
  recv.post(2, 0);
  EXPECT_TRUE(send.ready(2));
  EXPECT_FALSE(send.ready(3));
}

TEST(Link, SlotsGoRound) {
  Pair p;
  Link send(&p.send, Link::Direction::kSend, 1, 0);
  char* first = send.slot();
  EXPECT_EQ(first, p.wire.simple.data());
  send.post(1, 0);
  EXPECT_EQ(send.slot(), first + p.send.step_size);
  send.post(7, 0);
  EXPECT_EQ(send.slot(), first);
}

TEST(Link, FifoNamesPlaceAndSize) {
  Pair p;
  abi::ConnFifo fifo[abi::kSteps] = {};
  p.send.fifo = fifo;
  fifo[0].mode = 1;
  fifo[0].offset = 4096;
  Link send(&p.send, Link::Direction::kSend, 1, 0);
  EXPECT_EQ(send.slot(), p.wire.simple.data() + 4096);
  send.post(1, 1234);
  EXPECT_EQ(fifo[0].size, 1234);
  EXPECT_EQ(p.wire.tail, 1u);
}

// A kernel starts at a whole chunk and gives the credit of the steps it skips back.
TEST(Link, StartsAtAWholeChunk) {
  Pair p;
  p.send.step = p.recv.step = 5;
  Link send(&p.send, Link::Direction::kSend, 4, 0), recv(&p.recv, Link::Direction::kRecv, 4, 0);
  EXPECT_EQ(p.wire.head, 8u);
  send.post(4, 0);
  EXPECT_EQ(p.wire.tail, 12u);
  EXPECT_TRUE(recv.ready(4));
  send.save();
  EXPECT_EQ(p.send.step, 12u);
}

TEST(Link, LinesCarryDataBesideFlags) {
  Pair p;
  const size_t lines = Wire::kLLBytes / abi::kSteps / 16;
  Link send(&p.send, Link::Direction::kSend, 1, lines), recv(&p.recv, Link::Direction::kRecv, 1, lines);
  for (uint64_t step = 0; step < 20; step++) {
    EXPECT_FALSE(recv.lines_ready(3)) << "lines of the round before are not taken for new ones";
    send.plain() = {step, ~step, 0x0123456789abcdefull};
    send.send_lines(3);
    ASSERT_TRUE(recv.lines_ready(3));
    EXPECT_EQ(recv.plain(), (std::vector<uint64_t>{step, ~step, 0x0123456789abcdefull}));
    recv.lines_done();
  }
  EXPECT_EQ(p.wire.head, 20u);
}

}  // namespace
}  // namespace cpudev::test
