// The time of day jumps while a job runs: nobody may notice, since every deadline is on the monotonic clock.
//
// The programs run with a library preloaded that moves the time of day by days at every look, forwards and backwards.
#include <gtest/gtest.h>

#include "tests/support/program.h"

namespace fanin::test {
namespace {

TEST(Clock, JumpsDisturbNobody) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers' runtimes want to be loaded first";
#endif
  const std::string shim = "LD_PRELOAD=" + built("tests/jumping_clock.so");
  // It does what it says.
  Program date(
      "/bin/sh",
      {"-c",
       "a=$(date +%s); for i in 1 2 3 4 5 6 7 8; do d=$(($(date +%s) - a)); [ ${d#-} -gt 86400 ] && exit 0; "
       "done; exit 1"},
      {shim});
  ASSERT_EQ(date.wait().exit_code, 0) << "the clock does not jump";
  Program run(built("bin/fanin-perf"),
              {"-n", "3", "-r", "2", "--lanes", "2", "-b", "64K", "-e", "2M", "--iters", "20", "--verbose"},
              {shim});
  const auto o = run.wait(std::chrono::milliseconds(40000));
  EXPECT_EQ(o.exit_code, 0) << o.out << o.err;
}

}  // namespace
}  // namespace fanin::test
