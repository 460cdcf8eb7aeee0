// fanin-bench-kernels runs, writes Google Benchmark's JSON with the ratio, and refuses what it does not know.
#include <gtest/gtest.h>

#include "tests/support/program.h"

namespace fanin::test {
namespace {

TEST(BenchKernels, TableAndJson) {
  Program all(built("bin/fanin-bench-kernels"),
              {"--benchmark_filter=l2/sum/(float|half)/n=2/", "--benchmark_format=json"});
  const auto outcome = all.wait();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("\"ratio\": "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("\"name\": \"l2/sum/half/n=2"), std::string::npos) << outcome.out;
  Program summary(built("bin/fanin-bench-kernels"), {"--summary", "--benchmark_filter=l2/sum/half/n=5/"});
  const auto table = summary.wait();
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_EQ(table.out.rfind("Kernel speed", 0), 0u) << table.out;
  EXPECT_NE(table.out.find("half n=5"), std::string::npos) << table.out;
}

TEST(BenchKernels, UnknownLevelIsNamed) {
  Program program(built("bin/fanin-bench-kernels"), {"--level=SSE9"});
  const auto outcome = program.wait();
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("unknown level SSE9"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace fanin::test
