// The arithmetic of pools: known cases, the limits of each formula, and the reducer's own admission.
#include "topology/sizing.h"

#include <gtest/gtest.h>

#include "reducer/session_table.h"
#include "topology/rate.h"

namespace fanin {
namespace {

using namespace sizing;
constexpr double G = 1e9;

TEST(Sizing, FiveNodesOfHundredGigabitOnMachinesOfThirtyTwo) {
  EXPECT_EQ(reducers_to_match(5, 100 * G, 32 * G), 16u);
  EXPECT_EQ(reducers_to_beat_ring(5, 100 * G, 32 * G), 10u);
  EXPECT_DOUBLE_EQ(ring_rate(5, 100 * G), 62.5 * G);
  EXPECT_DOUBLE_EQ(pool_rate(5, 100 * G, 16 * 32 * G), 100 * G);
  EXPECT_DOUBLE_EQ(pool_rate(5, 100 * G, 9 * 32 * G), 57.6 * G);
  EXPECT_DOUBLE_EQ(pool_rate(5, 100 * G, 10 * 32 * G), 64 * G);
}

TEST(Sizing, TwoWorkersGainNothing) {
  EXPECT_DOUBLE_EQ(ring_rate(2, 100 * G), 100 * G);
  EXPECT_EQ(reducers_to_beat_ring(2, 100 * G, 1000 * G), std::nullopt);
  EXPECT_FALSE(loses(2, 100 * G, 200 * G));
  EXPECT_TRUE(loses(2, 100 * G, 190 * G));
}

TEST(Sizing, ThePoolWinsFromBreakEvenOnAndNeverBefore) {
  for (unsigned n = 3; n <= 64; ++n)
    for (double reducer : {10 * G, 32 * G, 100 * G, 400 * G}) {
      const unsigned k = reducers_to_beat_ring(n, 100 * G, reducer).value();
      EXPECT_GT(pool_rate(n, 100 * G, k * reducer), ring_rate(n, 100 * G)) << n << " " << reducer;
      EXPECT_LE(pool_rate(n, 100 * G, (k - 1) * reducer), ring_rate(n, 100 * G) * (1 + 1e-9)) << n;
      const unsigned match = reducers_to_match(n, 100 * G, reducer);
      EXPECT_DOUBLE_EQ(pool_rate(n, 100 * G, match * reducer), 100 * G);
      if (match > 1) {
        EXPECT_LT(pool_rate(n, 100 * G, (match - 1) * reducer), 100 * G);
      }
    }
}

TEST(Sizing, ExactlyBreakEvenDoesNotBeatTheRing) {
  // n²/(2(n-1)) = 2.25 links of 100 are exactly 10 of 22.5.
  EXPECT_EQ(reducers_to_beat_ring(3, 100 * G, 22.5 * G), 11u);
  EXPECT_FALSE(loses(3, 100 * G, 225 * G));
  EXPECT_TRUE(loses(3, 100 * G, 220 * G));
}

TEST(Sizing, SumsOfDecimalRatesAreNotRoundedUp) {
  EXPECT_EQ(reducers_to_match(3, 0.1 * G, 0.1 * G), 3u);
  EXPECT_EQ(reducers_to_match(7, 0.7 * G, 0.49 * G), 10u);
}

TEST(Sizing, OptimumMeetsRingAndPoolAtItsEnds) {
  for (unsigned n : {3u, 5u, 8u, 64u}) {
    EXPECT_DOUBLE_EQ(optimum_rate(n, G, 0), ring_rate(n, G));  // k = 0: all workers sum, as a ring does
    EXPECT_DOUBLE_EQ(optimum_rate(n, G, n * G), G);
    EXPECT_DOUBLE_EQ(optimum_rate(n, G, 2 * n * G), G);
    for (unsigned k = 1; k < n; ++k) {
      EXPECT_GT(optimum_rate(n, G, k * G), pool_rate(n, G, k * G));
      EXPECT_GT(optimum_rate(n, G, k * G), ring_rate(n, G));
      // Theorem 1: t = 2n(n-1)/(n²+kn-2k).
      EXPECT_DOUBLE_EQ(G / optimum_rate(n, G, k * G), 2.0 * n * (n - 1) / (n * n + k * n - 2 * k));
    }
  }
}

TEST(Sizing, Steps) {
  EXPECT_DOUBLE_EQ(step_time(0, 1, 2), 1);
  EXPECT_DOUBLE_EQ(step_time(0.4, 1, 2), 0.8);
  EXPECT_DOUBLE_EQ(step_time(0.4, 1, 0.5), 1.4);
}

// What a reducer admits, not what it says of itself.
TEST(Sizing, MemoryIsWhatTheReducerTakes) {
  for (unsigned n : {2u, 5u, 100u})
    for (unsigned lanes : {1u, 7u, 16u})
      for (unsigned reducers : {1u, 3u, 16u})
        for (uint64_t window : {65536u, 16u << 20, 100u << 20}) {
          reducer::SessionTable table({lanes, 64 << 10, uint64_t{1} << 40, 100});
          wire::Hello hello{};
          hello.nranks = n;
          hello.window_bytes = window / reducers;
          ASSERT_TRUE(table.admit(hello, "test").session);
          EXPECT_EQ(table.counts().memory_used, session_memory(n, reducers, window, lanes, 64 << 10))
              << n << " ranks, " << lanes << " lanes, " << reducers << " reducers";
        }
}

TEST(Rate, AsPeopleWriteIt) {
  for (auto [text, rate] : std::initializer_list<std::pair<const char*, double>>{{"100G", 100e9},
                                                                                 {"32Gbit/s", 32e9},
                                                                                 {"25 Gbps", 25e9},
                                                                                 {"12.5GB/s", 100e9},
                                                                                 {"800Mbit", 800e6},
                                                                                 {"1.6T", 1.6e12},
                                                                                 {"8x400G", 3.2e12},
                                                                                 {"2x12.5GB/s", 200e9},
                                                                                 {"1000000", 1e6},
                                                                                 {"10000kbit/s", 1e7}}) {
    Result<double> r = parse_rate(text);
    ASSERT_TRUE(r) << text;
    EXPECT_NEAR(*r, rate, rate * 1e-12) << text;
  }
  for (const char* text :
       {"",          "G",      "-1G",      "0",        "nan",     "inf",     "1e400G", "100GG",
        "100 G bit", "100GiB", "1e16",     "10000T",   "100G/s",  "100",     "400000", "x100G",
        "0x100G",    "2x",     "2x2x100G", "1.5x100G", "-2x100G", "2 x100G", "2x100",  "1024x1T"}) {
    Result<double> r = parse_rate(text);
    ASSERT_FALSE(r) << text;
    EXPECT_EQ(r.error().code(), Errc::kInvalidUsage);
  }
  for (const char* text : {"100", "9600", "10kbit/s", "0.000001G"})
    EXPECT_EQ(parse_rate(text).error().text(),
              "'" + std::string(text) +
                  "' is less than 1 Mbit/s; look at the unit: bits per second as 100G, 32Gbit/s or 25Gbps");
}

TEST(Rate, AsPeopleReadIt) {
  EXPECT_EQ(rate_text(100e9), "100 Gbit/s");
  EXPECT_EQ(rate_text(62.5e9), "62.5 Gbit/s");
  EXPECT_EQ(rate_text(999.99e6), "1 Gbit/s");
  EXPECT_EQ(rate_text(1.6e12), "1.6 Tbit/s");
  EXPECT_EQ(rate_text(12), "12 bit/s");
}

}  // namespace
}  // namespace fanin
