#include <gtest/gtest.h>

#include "perf/kernels/summary.h"

namespace fanin::perf {
namespace {

TEST(KernelSummary, GroupsTypesAndFindsLeastAndMedian) {
  const std::string text = kernel_summary({{DType::kF32, RedOp::kSum, 2, false, 1.0},
                                           {DType::kI8, RedOp::kSum, 64, false, .5},
                                           {DType::kU64, RedOp::kSum, 5, false, .9},
                                           {DType::kF64, RedOp::kSum, 5, true, .75},
                                           {DType::kE5M2, RedOp::kMin, 16, false, .25},
                                           {DType::kE4M3, RedOp::kMin, 2, false, .35}});
  EXPECT_NE(text.find(" 0.50  0.90  int8 n=64"), std::string::npos) << text;
  EXPECT_NE(text.find(" 0.75  0.75  double n=5"), std::string::npos) << text;
  EXPECT_NE(text.find(" 0.25  0.30  f8e5m2 n=16"), std::string::npos) << text;
  EXPECT_EQ(text.find("half"), std::string::npos) << "a group without results has no line:\n" << text;
}

}  // namespace
}  // namespace fanin::perf
