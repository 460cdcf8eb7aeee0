// Result bits depend on inputs and rank order only.
#include "tests/nccl/cases/rig.h"

namespace fanin::test {
namespace {

class Determinism : public NcclTest {};

std::string run(int reducers, int lanes, const Variables& more = {}, const Words& reducer_options = {}) {
  Pool pool(reducers, lanes, reducer_options);
  Variables v = {{"NCCL_ALGO", "CollnetChain"}, {"CPUDEV_SM", "90"}};
  for (const auto& [name, value] : more) v[name] = value;
  const std::string hash =
      expect_right("-n 4 -b 256K -e 256K -i 0 -t f16,f32,bf16,e4m3 -o sum,prod", with_pool(pool, v));
  pool.stop();
  EXPECT_GT(pool.received(), 0u);
  return hash;
}

TEST_F(Determinism, SameBitsWhateverThePool) {
  const std::string hash = run(1, 1);
  EXPECT_EQ(run(1, 1), hash) << "the same again";
  EXPECT_EQ(run(1, 3), hash) << "three lanes";
  EXPECT_EQ(run(2, 2), hash) << "two reducers of two lanes";
  EXPECT_EQ(run(5, 1, {{"FANIN_MIN_SLICE", "4K"}}), hash) << "five reducers, small slices";
  EXPECT_EQ(run(1, 1, {}, {"--block", "4K"}), hash) << "small blocks";
  EXPECT_EQ(run(2, 1, {{"NCCL_ALGO", "CollnetDirect"}}), hash) << "the other algorithm, a GPU a node";
}

// The check can fail: another order of ranks' data gives other bits.
TEST_F(Determinism, RingGivesOtherBits) {
  const std::string hash = run(1, 1);
  EXPECT_NE(expect_right("-n 4 -b 256K -e 256K -i 0 -t f16,f32,bf16,e4m3 -o sum,prod",
                         with_net({{"NCCL_ALGO", "Ring"}, {"CPUDEV_SM", "90"}})),
            hash);
}

}  // namespace
}  // namespace fanin::test
