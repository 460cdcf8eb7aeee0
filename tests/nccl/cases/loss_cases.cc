// What ranks get when a reducer, a worker or the application itself ends in mid-run.
#include <regex>

#include "tests/nccl/cases/rig.h"

namespace fanin::test {
namespace {

constexpr double kSoon = 2.0;  // seconds in which a loss must be known everywhere

class Loss : public NcclTest, public testing::WithParamInterface<const char*> {
 protected:
  static Variables variables(const Pool& pool) { return with_pool(pool, {{"NCCL_ALGO", GetParam()}}); }

  // Every line "rank N: error 6 (remote …) … T s after the kill" with T small; one per surviving rank, and nothing else.
  static void expect_remote_errors(const Ranks& ranks, size_t survivors) {
    const std::string text = ranks.output();
    static const std::regex line("rank \\d+: error (\\d+) .* ([0-9.-]+) s after the kill");
    size_t n = 0;
    for (std::sregex_iterator i(text.begin(), text.end(), line), end; i != end; ++i, ++n) {
      EXPECT_EQ((*i)[1], "6") << (*i)[0];
      EXPECT_LT(std::stod((*i)[2]), kSoon) << (*i)[0];
      EXPECT_GE(std::stod((*i)[2]), 0) << (*i)[0];
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
  EXPECT_EQ(count(ranks.output(), "abort took 0."), 4u) << "slow: " << ranks.story();
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
