// Reducer threads sum in the default floating-point environment, whatever the process that embeds them set.
#include "reducer/thread.h"

#include <fenv.h>
#include <gtest/gtest.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <cstring>

#include "reducer/kernels/reduce.h"
#include "tests/support/no_threads.h"

namespace fanin::reducer {
namespace {

uint32_t sum_of(uint32_t a, uint32_t b) {
  const void* in[] = {&a, &b};
  uint32_t out = 0;
  reduce_fn(DType::kF32, RedOp::kSum)(&out, in, 2, 1);
  return out;
}
constexpr uint32_t kOne = 0x3f800000, kHair = 0x33000000, kAboveOne = 0x3f800001;  // 1, 2^-25

TEST(ReducerThread, DoesNotInheritTheFloatingPointEnvironment) {
  fenv_t before;
  ASSERT_EQ(fegetenv(&before), 0);
  ASSERT_EQ(fesetround(FE_UPWARD), 0);
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() | 0x8040);  // denormal results and operands are zero
#endif
  const uint32_t creators_rounding = sum_of(kOne, kHair), creators_denormal = sum_of(1, 2);
  uint32_t rounding = 0, denormal = 0;
  Result<std::thread> thread = start_thread("fenv", [&] {
    rounding = sum_of(kOne, kHair);
    denormal = sum_of(1, 2);
  });
  if (thread) thread->join();
  fesetenv(&before);
  ASSERT_TRUE(thread);
  EXPECT_EQ(creators_rounding, kAboveOne) << "the test does not set what it means to";
#if defined(__x86_64__)
  EXPECT_EQ(creators_denormal, 0u) << "the test does not set what it means to";
#endif
  EXPECT_EQ(rounding, kOne);
  EXPECT_EQ(denormal, 3u);
}

TEST(ReducerThread, ALimitOnThreadsIsNamedWithItsRemedy) {
  Result<std::thread> thread = Error(Errc::kInternal, "not run");
  if (!test::without_threads([&] { thread = start_thread("lane 3", [] {}); }))
    GTEST_SKIP() << "no seccomp here";
  ASSERT_FALSE(thread);
  EXPECT_EQ(thread.error().text(),
            "cannot start thread lane 3: Resource temporarily unavailable (raise the limit on threads, "
            "ulimit -u or "
            "the cgroup's pids.max, or the one on memory, ulimit -v)");
}

}  // namespace
}  // namespace fanin::reducer
