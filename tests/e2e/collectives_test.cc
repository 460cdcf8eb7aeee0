// All collectives through the built plugin and real reducer processes, every element checked: element types,
// operators, sizes, pools and lane counts.
#include <gtest/gtest.h>

#include "tests/support/collnet_rank.h"
#include "tests/support/process.h"

namespace fanin::test {
namespace {

using Case = CollnetRank::Case;

std::vector<ReducerProcess> start(int count, unsigned lanes) {
  std::vector<ReducerProcess> pool;
  for (int i = 0; i < count; i++) pool.emplace_back(lanes);
  return pool;
}

class Collectives : public testing::TestWithParam<std::tuple<int, unsigned>> {};

TEST_P(Collectives, EverySizeAndKind) {
  auto [reducers, lanes] = GetParam();
  auto pool = start(reducers, lanes);
  constexpr int kRanks = 3;
  std::vector<Case> cases;
  uint64_t seed = 0;
  for (Coll coll : {Coll::kAllReduce, Coll::kReduceScatter, Coll::kAllGather})
    for (size_t elements : {1ul, 1000ul, 8192ul, 100'001ul, 700'000ul})
      for (bool in_place : {false, true})
        cases.push_back(
            {coll, DType::kF32, RedOp::kSum,
             elements / (coll == Coll::kAllReduce ? 1 : kRanks) * (coll == Coll::kAllReduce ? 4 : 4 * kRanks),
             in_place, seed += 1001});
  std::erase_if(cases, [](const Case& c) { return c.bytes == 0; });
  EXPECT_EQ(
      run_ranks(kRanks, {{"FANIN_REDUCERS", pool_of(pool)}}, [&](Rank& r) { return run_cases(r, cases); }),
      "");
  for (ReducerProcess& r : pool) EXPECT_TRUE(r.running()) << r.said();
}

INSTANTIATE_TEST_SUITE_P(Pools, Collectives,
                         testing::Values(std::tuple(1, 1u), std::tuple(1, 4u), std::tuple(2, 2u),
                                         std::tuple(5, 1u)));

TEST(CollectivesOfEveryType, AllOperators) {
  auto pool = start(2, 2);
  std::vector<Case> cases;
  for (int t = 0; t < kNumDTypes; t++)
    for (int op = 0; op < kNumRedOps; op++)
      cases.push_back({(t + op) % 2 ? Coll::kAllReduce : Coll::kReduceScatter, static_cast<DType>(t),
                       static_cast<RedOp>(op), 5 * 8 * 3001, false, static_cast<uint64_t>(100 * t + op)});
  for (int t = 0; t < kNumDTypes; t++)
    cases.push_back({Coll::kAllGather, static_cast<DType>(t), RedOp::kSum, 5 * 8 * 3001, false, 7});
  EXPECT_EQ(run_ranks(5, {{"FANIN_REDUCERS", pool_of(pool)}}, [&](Rank& r) { return run_cases(r, cases); }),
            "");
}

TEST(CollectivesOfOneCall, LargerThanTheWindow) {
  auto pool = start(1, 2);
  std::vector<Case> cases;
  for (int i = 0; i < 4; i++)
    cases.push_back({Coll::kAllReduce, DType::kBF16, RedOp::kSum, 6 << 20, false, 99});
  EXPECT_EQ(run_ranks(2, {{"FANIN_REDUCERS", pool_of(pool)}, {"FANIN_WINDOW", "256K"}},
                      [&](Rank& r) { return run_cases(r, cases); }),
            "");
}

// Result bits depend on inputs and rank order alone.
TEST(Reproducible, SameBitsAcrossRunsLanesPoolsAndWindows) {
  struct Pool {
    int reducers;
    unsigned lanes;
    const char* window;
    const char* block;
  } const pools[] = {{1, 1, "16M", "64K"}, {1, 1, "16M", "64K"}, {1, 4, "1M", "4K"}, {3, 2, "16M", "128K"}};
  for (DType type : {DType::kF32, DType::kBF16, DType::kE4M3}) {
    std::vector<std::string> seen;
    for (const Pool& p : pools) {
      std::vector<ReducerProcess> pool;
      for (int i = 0; i < p.reducers; i++)
        pool.emplace_back(p.lanes, std::vector<std::string>{"--block", p.block});
      RankProcesses ranks(5, {{"FANIN_REDUCERS", pool_of(pool)}, {"FANIN_WINDOW", p.window}}, [&](Rank& r) {
        return run_cases(r, {{Coll::kAllReduce, type, RedOp::kSum, 1'000'008, false, 5}});
      });
      for (const Outcome& o : ranks.wait(milliseconds(20000))) {
        ASSERT_EQ(o.failure, "");
        ASSERT_EQ(o.lines.size(), 1u);
        seen.push_back(o.lines[0]);
      }
    }
    for (const std::string& digest : seen) EXPECT_EQ(digest, seen[0]) << dtype_name(type);
  }
}

}  // namespace
}  // namespace fanin::test
