// The plan: every byte in exactly one slice, aligned, balanced, the same on every rank.
#include "plugin/collnet/plan.h"

#include <gtest/gtest.h>

#include <numeric>

namespace fanin::plugin::collnet {
namespace {

struct Part {
  size_t lane;
  uint64_t offset, length;
  bool operator==(const Part&) const = default;
};

std::vector<Part> slices(const Plan& plan, uint64_t message, uint64_t bytes) {
  std::vector<Part> out;
  plan.split(message, bytes, [&](size_t lane, uint64_t offset, uint64_t length) {
    out.push_back({lane, offset, length});
  });
  return out;
}

Plan equal(size_t lanes, uint64_t min_slice = 16 << 10) {
  return Plan(std::vector<uint32_t>(lanes, 1), min_slice);
}

TEST(Plan, CoversEveryByteOnceInOrderAndAligned) {
  for (size_t lanes : {1, 2, 3, 7, 40})
    for (uint64_t min_slice : {64, 100, 4096, 16384})
      for (uint64_t bytes : {1, 63, 64, 65, 4095, 4096, 16384, 32768, 100003, 4194304 + 17, 1 << 30})
        for (uint64_t message : {0, 1, 2, 3, 99}) {
          uint64_t at = 0;
          std::vector<bool> used(lanes);
          for (const Part& p : slices(equal(lanes, min_slice), message, bytes)) {
            ASSERT_EQ(p.offset, at);
            ASSERT_GT(p.length, 0u);
            ASSERT_LT(p.lane, lanes);
            ASSERT_EQ(p.offset % Plan::kAlign, 0u);
            ASSERT_FALSE(used[p.lane]) << "two slices on one lane";
            used[p.lane] = true;
            at += p.length;
          }
          ASSERT_EQ(at, bytes);
        }
}

TEST(Plan, UsesAsManyLanesAsSlicesAreWorth) {
  const Plan plan = equal(8, 1000);
  EXPECT_EQ(slices(plan, 0, 1).size(), 1u);
  EXPECT_EQ(slices(plan, 0, 1999).size(), 1u);
  EXPECT_EQ(slices(plan, 0, 2000).size(), 2u);
  EXPECT_EQ(slices(plan, 0, 7999).size(), 7u);
  EXPECT_EQ(slices(plan, 0, 1 << 20).size(), 8u);
}

TEST(Plan, SmallMessagesVisitAllLanesAlike) {
  for (size_t lanes : {1, 2, 5, 8}) {
    std::vector<int> hits(lanes);
    for (uint64_t m = 0; m < lanes * 100; ++m)
      for (const Part& p : slices(equal(lanes), m, 100)) ++hits[p.lane];
    for (int h : hits) EXPECT_EQ(h, 100);
  }
}

TEST(Plan, PeriodicSizesDoNotLoadSomeLanesOnly) {
  // Every second message is small, as with two groups of channels of different sizes.
  const size_t lanes = 4;
  std::vector<int> hits(lanes);
  for (uint64_t m = 1; m < 800; m += 2)
    for (const Part& p : slices(equal(lanes), m, 100)) ++hits[p.lane];
  for (int h : hits) EXPECT_EQ(h, 100);
}

TEST(Plan, EqualWeightsDifferByLessThanTwoAlignments) {
  for (uint64_t bytes : {1 << 20, (1 << 20) + 13, 3000001}) {
    uint64_t least = UINT64_MAX, most = 0;
    for (const Part& p : slices(equal(7), 3, bytes)) {
      least = std::min(least, p.length);
      most = std::max(most, p.length);
    }
    EXPECT_LE(most - least, 2 * Plan::kAlign);
  }
}

TEST(Plan, WeightsShareInProportion) {
  const Plan plan({1, 2, 5}, 64);
  std::vector<uint64_t> bytes(3);
  for (const Part& p : slices(plan, 4, 8 << 20)) bytes[p.lane] += p.length;
  EXPECT_NEAR(static_cast<double>(bytes[0]), 1 << 20, 128);
  EXPECT_NEAR(static_cast<double>(bytes[1]), 2 << 20, 128);
  EXPECT_NEAR(static_cast<double>(bytes[2]), 5 << 20, 128);
}

TEST(Plan, ExtremeWeightsLeaveNoEmptySlice) {
  const Plan plan({1, 4000000000u, 1}, 64);
  for (uint64_t bytes : {192, 1000, 1 << 20, 1 << 30}) {
    uint64_t sum = 0;
    for (const Part& p : slices(plan, 0, static_cast<uint64_t>(bytes))) {
      EXPECT_GT(p.length, 0u);
      sum += p.length;
    }
    EXPECT_EQ(sum, static_cast<uint64_t>(bytes));
  }
}

TEST(Plan, LargestMessageDoesNotOverflow) {
  const Plan plan({4000000000u, 4000000000u, 4000000000u}, 16384);
  uint64_t at = 0;
  for (const Part& p : slices(plan, 1ull << 60, 1ull << 40)) {
    ASSERT_EQ(p.offset, at);
    at += p.length;
  }
  EXPECT_EQ(at, 1ull << 40);
}

TEST(Plan, IsAPureFunction) {
  const Plan a({3, 1, 4, 1, 5}, 4096), b({3, 1, 4, 1, 5}, 4096);
  slices(a, 7, 123456);
  for (uint64_t m = 0; m < 50; ++m) EXPECT_EQ(slices(a, m, 50000 + m), slices(b, m, 50000 + m));
}

}  // namespace
}  // namespace fanin::plugin::collnet
