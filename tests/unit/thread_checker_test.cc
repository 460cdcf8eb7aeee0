// The checker of builds that check, in every build.
#ifndef FANIN_CHECKED
#define FANIN_CHECKED 1
#endif
#include "transport/thread_checker.h"

#include <gtest/gtest.h>

#include <thread>

namespace fanin {
namespace {

TEST(ThreadChecker, TheFirstThreadOwnsIt) {
  ThreadChecker c("a thing");
  std::thread([&] { c.check(), c.check(); }).join();
  c.release();
  c.check();  // handed over
}

TEST(ThreadCheckerDeathTest, AnotherThreadAbortsWithTheName) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        ThreadChecker c("a thing");
        c.check();
        std::thread([&] { c.check(); }).join();
      },
      "fanin: a thing is used on a thread that does not own it");
}

}  // namespace
}  // namespace fanin
