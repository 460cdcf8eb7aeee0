// What a person sees who asks NCCL for warnings only.
#include "tests/nccl/cases/rig.h"

namespace fanin::test {
namespace {

using Quiet = NcclTest;

Variables warnings_only(const Pool& pool) {
  return with_pool(
      pool,
      {{"NCCL_DEBUG", "WARN"}, {"NCCL_DEBUG_SUBSYS", "INIT,BOOTSTRAP,ENV"}, {"NCCL_ALGO", "CollnetChain"}});
}

TEST_F(Quiet, NothingInAGoodRun) {
  Pool pool(2);
  Ranks ranks("-n 3 -b 1K -e 1M -f 32", warnings_only(pool));
  EXPECT_TRUE(ranks.wait(60)) << ranks.story();
  EXPECT_TRUE(ranks.good()) << ranks.story();
  EXPECT_EQ(count(ranks.log() + ranks.output(), "WARN"), 0u) << ranks.log() << ranks.output();
  pool.stop();
  EXPECT_GT(pool.received(), 0u);
}

// Each reducer tells 10 Gbit/s, each node has 100: the ring would be faster than two.
TEST_F(Quiet, OneLineForAPoolThatIsTooSmallAndNoneForOneThatIsNot) {
  for (const bool small : {true, false}) {
    Pool pool(2, 1, {"--advertise", small ? "127.0.0.1=10G" : "127.0.0.1=150G"});
    Variables variables = warnings_only(pool);
    variables["FANIN_WORKER_BW"] = "100G";
    Ranks ranks("-n 3 -b 1K -e 32K -f 32", variables);
    EXPECT_TRUE(ranks.wait(60)) << ranks.story();
    EXPECT_TRUE(ranks.good()) << ranks.story();
    const std::string said = ranks.log() + ranks.output();
    EXPECT_EQ(count(said, "WARN"), small ? 1u : 0u) << said;
    EXPECT_EQ(
        count(said, "the pool is too small: 2 reducers have 20 Gbit/s together, 6.7 % of what 3 nodes "),
        small ? 1u : 0u)
        << said;
    pool.stop();
  }
}

// By default NCCL shows few subsystems, also of warnings.
TEST_F(Quiet, ALostReducerIsNamed) {
  Pool pool(2);
  Ranks ranks("-n 3 -b 1M -e 1M -x lose-reducer -k " + std::to_string(pool.pid(0)), warnings_only(pool));
  EXPECT_TRUE(ranks.wait(60)) << ranks.story();
  EXPECT_GE(count(ranks.log() + ranks.output(), "lost the connection to reducer " + pool.address(0)), 3u)
      << ranks.log() << ranks.output();
  pool.stop();
}

}  // namespace
}  // namespace fanin::test
