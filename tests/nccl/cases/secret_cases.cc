// A job with a secret: reducers, the ranks' agreement and every point-to-point connection of NCCL's own ask for it.
#include "tests/nccl/cases/rig.h"

namespace fanin::test {
namespace {

const std::string kSecret = "secret-of-the-nccl-job-0123456789", kOther = "another-secret-of-a-job-012345678";

class Secrets : public NcclTest {};

TEST_F(Secrets, EverythingThroughReducersAndOurNet) {
  Folder folder;
  const std::string file = folder.path() + "/pool";
  FILE* f = fopen(file.c_str(), "w");
  ASSERT_NE(f, nullptr);
  fprintf(f, "job: %s\nother: %s\n", kSecret.c_str(), kOther.c_str());
  fclose(f);
  Pool pool(2, 2, {"--secret-file", file});
  expect_right("-n 4 -g 2 -c all -b 4K -e 4M -f 32",
               with_pool(pool, {{"FANIN_SECRET", kSecret}, {"FANIN_TUNER", "0"}}));
  pool.stop();
  EXPECT_GT(pool.received(), 0u);
}

TEST_F(Secrets, RingOverOurNet) {
  expect_right("-n 3 -c all -b 3K -e 3M -f 32 -i 1",
               with_net({{"NCCL_ALGO", "Ring"}, {"FANIN_SECRET", kSecret}, {"FANIN_NET_SOCKETS", "3"}}));
}

// Another secret on one rank, or none: the job ends with an error that says which rank and what to do, and moves no data.
TEST_F(Secrets, ARankWithoutItEndsTheJob) {
  for (const std::string& odd : {kOther, std::string()}) {
    Ranks ranks("-n 3 -b 64K -e 64K -E 1:FANIN_SECRET=" + odd, with_net({{"FANIN_SECRET", kSecret}}));
    EXPECT_TRUE(ranks.wait(60)) << ranks.story();
    EXPECT_FALSE(ranks.good()) << ranks.story();
    EXPECT_GE(count(ranks.log(), "set the same FANIN_SECRET_FILE on all ranks of a job"), 1u)
        << ranks.story();
    EXPECT_EQ(count(ranks.output(), "allreduce"), 0u) << ranks.story();
    EXPECT_EQ(count(ranks.log(), kSecret) + count(ranks.log(), kOther), 0u);
  }
}

}  // namespace
}  // namespace fanin::test
