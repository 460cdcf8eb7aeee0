// All-reduce through the reducers, by both of NCCL's CollNet algorithms.
#include "tests/nccl/cases/rig.h"

namespace fanin::test {
namespace {

const char kNics[] = "nic";  // NCCL_SOCKET_IFNAME: nic0 and nic1

class AllReduce : public NcclTest, public testing::WithParamInterface<const char*> {
 protected:
  std::string through(int reducers, const std::string& arguments, const Variables& more = {}) {
    return expect_through(reducers, GetParam(), arguments, more);
  }
};
INSTANTIATE_TEST_SUITE_P(, AllReduce, testing::Values("CollnetDirect", "CollnetChain"),
                         [](const auto& i) { return std::string(i.param); });

TEST_P(AllReduce, TwoNodesOneReducer) { through(1, "-n 2 -b 4 -e 16M -f 16 -i 1"); }

TEST_P(AllReduce, FiveNodesFiveReducers) { through(5, "-n 5 -b 1K -e 4M -f 16 -i 1"); }

TEST_P(AllReduce, OddSizes) { through(2, "-n 3 -b 12 -e 4000000 -f 7"); }

TEST_P(AllReduce, TwoNodesOfTwo) { through(2, "-n 4 -g 2 -b 1K -e 4M -f 16 -i 1"); }

TEST_P(AllReduce, TwoNodesOfTwoWithTwoNics) {
  if (!Isolation::two_nics()) GTEST_SKIP() << Isolation::why_not();
  through(2, "-n 4 -g 2 -b 1K -e 4M -f 16 -i 1", {{"NCCL_SOCKET_IFNAME", kNics}});
}

TEST_P(AllReduce, ThreadsWithTwoNics) {
  if (!Isolation::two_nics()) GTEST_SKIP() << Isolation::why_not();
  through(2, "-T -n 4 -g 2 -b 1K -e 4M -f 16 -i 1", {{"NCCL_SOCKET_IFNAME", kNics}});
}

// fp8 needs sm_90. Three ranks, so that rounding twice would show.
TEST_P(AllReduce, EveryTypeAndOperator) {
  through(2, "-n 3 -b 6000 -e 60000 -f 10 -i 0 -t all -o all", {{"CPUDEV_SM", "90"}});
}

// A GPU a node: the reducers' sum is the result, accumulated in float and rounded once.
TEST_P(AllReduce, SmallFloatsAreRoundedOnce) {
  through(1, "-1 -n 5 -b 40000 -e 40000 -i 0 -t f16,bf16,e4m3,e5m2 -o sum,prod", {{"CPUDEV_SM", "90"}});
}

// The device claims GPUDirect; our plugin offers host memory only, and NCCL must still be right.
TEST_P(AllReduce, RegisteredUserBuffers) {
  through(2, "-n 3 -b 4K -e 4M -f 16 -i 1 -r", {{"CPUDEV_GDR", "1"}, {"NCCL_NET_GDR_LEVEL", "SYS"}});
}

TEST_P(AllReduce, SplitCommunicators) { through(2, "-n 4 -b 1K -e 1M -f 32 -x split"); }

TEST_P(AllReduce, TwoCommunicators) { through(2, "-n 4 -b 1K -e 1M -f 32 -x multi"); }

TEST_P(AllReduce, GroupOfCalls) { through(2, "-n 4 -b 1M -e 1M -x group"); }

TEST_P(AllReduce, Rails) {
  if (!Isolation::two_nics()) GTEST_SKIP() << Isolation::why_not();
  // Each NIC is a communicator of its own at the reducers; several of them and several calls at once.
  through(1, "-n 4 -g 2 -b 1M -e 1M -x group", {{"NCCL_SOCKET_IFNAME", kNics}});
}

}  // namespace
}  // namespace fanin::test
