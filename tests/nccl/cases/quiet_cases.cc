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
