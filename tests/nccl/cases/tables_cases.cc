// The tables of older ABI versions under the real NCCL: it is given a library that exports one version only and reaches it
// as the releases of that version's time did, through what it still knows of them.
#include "tests/nccl/cases/rig.h"

namespace fanin::test {
namespace {

class Tables : public NcclTest, public testing::WithParamInterface<int> {
 protected:
  // What NCCL's log must say once per process and table.
  void through(const std::string& arguments, const Variables& more) {
    const std::string version = "v" + std::to_string(GetParam());
    Pool pool(2);
    Variables variables = with_pool(pool, more);
    variables["NCCL_NET_PLUGIN"] = built("tests/only_" + version + "/libnccl-net-fanin.so");
    Ranks ranks(arguments, variables);
    EXPECT_TRUE(ranks.wait(60)) << ranks.story();
    EXPECT_TRUE(ranks.good()) << ranks.story();
    EXPECT_EQ(count(ranks.output(), ", 0 wrong, 0 segments left"), 1u) << ranks.story();
    EXPECT_GT(count(ranks.log(), "Loaded net plugin fanin (" + version + ")"), 0u) << ranks.story();
    EXPECT_GT(count(ranks.log(), "Loaded collnet plugin fanin (" + version + ")"), 0u) << ranks.story();
    pool.stop();
    EXPECT_GT(pool.received(), 0u) << "nothing went through the reducers: " << ranks.story();
  }
};
INSTANTIATE_TEST_SUITE_P(, Tables, testing::Range(6, 11),
                         [](const auto& i) { return "V" + std::to_string(i.param); });

// All-gather and reduce-scatter came with v8.
class TablesSinceV8 : public Tables {};
INSTANTIATE_TEST_SUITE_P(, TablesSinceV8, testing::Range(8, 11),
                         [](const auto& i) { return "V" + std::to_string(i.param); });

TEST_P(Tables, AllReduceThroughReducers) {
  through("-n 4 -g 2 -b 1K -e 1M -f 32 -i 1", {{"NCCL_ALGO", "CollnetDirect"}});
}

TEST_P(TablesSinceV8, GatherAndScatterThroughReducers) {
  through("-n 3 -c reducescatter,allgather -b 3K -e 3M -f 32 -i 1", {{"NCCL_ALGO", "CollnetDirect"}});
}

TEST_P(Tables, RingOverOurNet) {
  const std::string version = "v" + std::to_string(GetParam());
  expect_right("-n 3 -c all -b 3K -e 3M -f 32 -i 1",
               with_net({{"NCCL_ALGO", "Ring"},
                         {"NCCL_NET_PLUGIN", built("tests/only_" + version + "/libnccl-net-fanin.so")}}));
}

}  // namespace
}  // namespace fanin::test
