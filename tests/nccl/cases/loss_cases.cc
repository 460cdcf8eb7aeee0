// What ranks get when a reducer, a worker or the application itself ends in mid-run.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "tests/nccl/cases/rig.h"

namespace fanin::test {
namespace {

// Seconds in which a loss must be known everywhere, on a slow and busy machine too; the time-outs are ten minutes.
constexpr double kSoon = 10;

class Loss : public NcclTest, public testing::WithParamInterface<const char*> {
 protected:
  static Variables variables(const Pool& pool) { return with_pool(pool, {{"NCCL_ALGO", GetParam()}}); }

  // Every line "rank N: error 6 (remote …) … T s after the kill" with T small; one per surviving rank, and nothing else.
  static void expect_remote_errors(const Ranks& ranks, size_t survivors) {
    std::istringstream lines(ranks.output());
    size_t n = 0;
    for (std::string line; std::getline(lines, line);) {
      const char *after = strstr(line.c_str(), ": error "), *in_round = strstr(line.c_str(), " in round ");
      int error = 0, round = 0;
      double seconds = -1;
      if (!after || sscanf(after, ": error %d", &error) != 1 || !in_round) continue;
      EXPECT_EQ(sscanf(in_round, " in round %d, %lf s after the kill", &round, &seconds), 2) << line;
      EXPECT_EQ(error, 6) << line;
      EXPECT_LT(seconds, kSoon) << line;
      EXPECT_GE(seconds, 0) << line;
      n++;
    }
    EXPECT_EQ(n, survivors) << ranks.story();
  }
};
INSTANTIATE_TEST_SUITE_P(, Loss, testing::Values("CollnetDirect", "CollnetChain"),
                         [](const auto& i) { return std::string(i.param); });

TEST_P(Loss, AbortInFlight) {
  Pool pool(2);
  Ranks ranks("-n 4 -b 1M -e 1M -x abort", variables(pool));
  EXPECT_TRUE(ranks.wait(60)) << ranks.story();
  EXPECT_TRUE(ranks.good()) << ranks.story();
  EXPECT_EQ(count(ranks.output(), ": abort took "), 4u) << ranks.story();
  std::istringstream lines(ranks.output());
  for (std::string line; std::getline(lines, line);)
    if (const char* took = strstr(line.c_str(), "abort took ")) {
      EXPECT_LT(atof(took + strlen("abort took ")), kSoon) << line;
    }
  pool.stop();
}

TEST_P(Loss, ReducerKilled) {
  Pool pool(2);
  Ranks ranks("-n 4 -b 1M -e 1M -x lose-reducer -k " + std::to_string(pool.pid(0)), variables(pool));
  EXPECT_TRUE(ranks.wait(60)) << ranks.story();
  EXPECT_TRUE(ranks.good()) << ranks.story();
  expect_remote_errors(ranks, 4);
  EXPECT_GT(count(ranks.log(), pool.address(0)), 0u) << "the lost reducer is not named: " << ranks.story();
  pool.stop();
}

TEST_P(Loss, WorkerKilledAndTheReducersGoOn) {
  Pool pool(2);
  Ranks ranks("-n 4 -b 1M -e 1M -x lose-rank", variables(pool));
  EXPECT_TRUE(ranks.wait(60)) << ranks.story();
  EXPECT_TRUE(ranks.good()) << ranks.story();
  expect_remote_errors(ranks, 3);
  expect_right("-n 3 -b 1K -e 1M -f 32", variables(pool));
  pool.stop();
  EXPECT_GT(pool.received(), 0u);
}

}  // namespace
}  // namespace fanin::test
