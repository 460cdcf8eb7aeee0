// Everything else: reduce-scatter and all-gather through the reducers, and all collectives over our point-to-point net.
#include "tests/nccl/cases/rig.h"

namespace fanin::test {
namespace {

class Collectives : public NcclTest {};

TEST_F(Collectives, ReduceScatterThroughReducers) {
  expect_through(2, "CollnetDirect", "-n 3 -c reducescatter -b 3K -e 3M -f 32 -i 1");
}

TEST_F(Collectives, AllGatherThroughReducers) {
  expect_through(2, "CollnetDirect", "-n 3 -c allgather -b 3K -e 3M -f 32 -i 1");
}

TEST_F(Collectives, ReduceScatterEveryTypeThroughReducers) {
  expect_through(1, "CollnetDirect", "-n 3 -c reducescatter -b 30000 -e 30000 -i 0 -t all -o sum,max",
                 {{"CPUDEV_SM", "90"}});
}

TEST_F(Collectives, ReduceScatterAndAllGatherOverTwoNics) {
  if (!Isolation::two_nics()) GTEST_SKIP() << Isolation::why_not();
  expect_through(2, "CollnetDirect", "-n 4 -g 2 -c reducescatter,allgather -b 4K -e 4M -f 32 -i 1",
                 {{"NCCL_SOCKET_IFNAME", "nic"}});
}

TEST_F(Collectives, ReduceScatterAndAllGatherRegistered) {
  expect_through(2, "CollnetDirect", "-n 3 -c reducescatter,allgather -b 12K -e 3M -f 16 -r",
                 {{"CPUDEV_GDR", "1"}, {"NCCL_NET_GDR_LEVEL", "SYS"}});
}

// Only our net, no reducers.
TEST_F(Collectives, RingOverOurNet) {
  expect_right("-n 3 -c all -b 3K -e 3M -f 32 -i 1",
               with_net({{"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", "Simple"}}));
}

TEST_F(Collectives, RingWithLowLatencyProtocolOverOurNet) {
  expect_right("-n 3 -c all -b 12 -e 1M -f 16", with_net({{"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", "LL"}}));
}

TEST_F(Collectives, TreeOverOurNet) {
  expect_right("-n 3 -b 1K -e 4M -f 16 -i 1", with_net({{"NCCL_ALGO", "Tree"}, {"NCCL_PROTO", "Simple"}}));
}

TEST_F(Collectives, TreeWithLowLatencyProtocolOverOurNet) {
  expect_right("-n 3 -b 4 -e 1M -f 16", with_net({{"NCCL_ALGO", "Tree"}, {"NCCL_PROTO", "LL"}}));
}

TEST_F(Collectives, TwoNicsOverOurNet) {
  if (!Isolation::two_nics()) GTEST_SKIP() << Isolation::why_not();
  expect_right("-n 4 -g 2 -c allreduce,sendrecv -b 4K -e 4M -f 32",
               with_net({{"NCCL_ALGO", "Ring"}, {"NCCL_SOCKET_IFNAME", "nic"}}));
}

// CollNet is on, but NCCL decides what it uses.
// fanin's tuner would keep two nodes on their ring.
TEST_F(Collectives, NcclsOwnChoice) {
  expect_through(2, "", "-n 2 -c all -b 4K -e 4M -f 32", {{"FANIN_TUNER", "0"}});
}

TEST_F(Collectives, NcclsOwnChoiceTwoNodesOfTwo) {
  Pool pool(2);
  expect_right("-n 4 -g 2 -c all -b 4K -e 4M -f 32", with_pool(pool));
  pool.stop();
}

// One node: NCCL never needs the network.
TEST_F(Collectives, OneNodeLeavesReducersAlone) {
  Pool pool(1);
  expect_right("-n 2 -g 2 -c all -b 4K -e 1M -f 256", with_pool(pool));
  pool.stop();
  EXPECT_EQ(pool.received(), 0u);
}

}  // namespace
}  // namespace fanin::test
