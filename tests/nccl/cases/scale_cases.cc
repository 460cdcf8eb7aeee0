// Five nodes of eight GPUs, and several jobs on one pool.
#include "tests/nccl/cases/rig.h"

namespace fanin::test {
namespace {

class Scale : public NcclTest {};

const Variables kSmall = {{"NCCL_BUFFSIZE", "1048576"}, {"NCCL_MAX_NCHANNELS", "1"}};

TEST_F(Scale, FiveNodesOfEight) {
  expect_through(5, "CollnetDirect", "-T -n 40 -g 8 -b 1K -e 256K -f 16", kSmall, 150);
}

TEST_F(Scale, FiveNodesOfEightInChains) {
  expect_through(2, "CollnetChain", "-T -n 40 -g 8 -b 1K -e 256K -f 16", kSmall, 150);
}

TEST_F(Scale, TwoJobsOnOnePool) {
  Pool pool(2);
  Ranks first("-n 3 -b 1K -e 4M -f 16 -i 2", with_pool(pool, {{"NCCL_ALGO", "CollnetChain"}}));
  Ranks second("-n 2 -b 1K -e 4M -f 16 -i 2 -t i32", with_pool(pool, {{"NCCL_ALGO", "CollnetDirect"}}));
  for (Ranks* r : {&first, &second}) {
    EXPECT_TRUE(r->wait(90)) << r->story();
    EXPECT_TRUE(r->good()) << r->story();
    EXPECT_EQ(count(r->output(), ", 0 wrong, 0 segments left"), 1u) << r->story();
  }
  pool.stop();
  EXPECT_GT(pool.received(), 0u);
}

}  // namespace
}  // namespace fanin::test
