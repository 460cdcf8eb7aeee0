// The tuner: its model, its rules, what it does to NCCL's cost table, and the tables NCCL calls.
#include "plugin/tuner/tuner.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>

#include "plugin/abi/tables.h"
#include "tests/support/log_capture.h"

namespace fanin::plugin::tuner {
namespace {

constexpr float kNo = -1;

// float[7][3] as NCCL has it, everything unavailable.
struct Costs {
  float at[7][3];
  Costs() {
    for (auto& row : at)
      for (float& cost : row) cost = kNo;
  }
  CostTable view() { return CostTable(reinterpret_cast<float**>(at), 7, 3); }
  // What NCCL picks: the first of the least.
  int algorithm() const {
    int best = -1;
    float least = INFINITY;
    for (int a = 0; a < 7; ++a)
      for (int p = 0; p < 3; ++p)
        if (at[a][p] >= 0 && at[a][p] < least) {
          best = a;
          least = at[a][p];
        }
    return best;
  }
};

Costs usual() {
  Costs c;
  c.at[NCCL_TUNER_TREE][NCCL_TUNER_LL] = 80;
  c.at[NCCL_TUNER_RING][NCCL_TUNER_LL] = 50;
  c.at[NCCL_TUNER_RING][NCCL_TUNER_SIMPLE] = 90;
  c.at[NCCL_TUNER_COLLNET_CHAIN][NCCL_TUNER_SIMPLE] = 70;
  return c;
}

TEST(Crossover, OneNodeHasNone) { EXPECT_EQ(crossover({1, 8}, kAssumed), kNever); }

TEST(Crossover, IsWhereTheReducersBecomeFasterForGood) {
  for (const uint64_t n : {2u, 3u, 5u, 8u, 64u, 1000u})
    for (const double small : {5.0, 60.0, 400.0})
      for (const double pool : {0.4, 0.7, 1.0}) {
        Figures f;
        f.small_us = small;
        f.chunk_us = small + 60;
        f.pool_rate = pool * f.link_rate;
        const uint64_t from = crossover({n, n}, f);
        const auto faster = [&](uint64_t b) {
          return reducers_us({n, n}, f, b) < ring_or_tree_us({n, n}, f, b);
        };
        for (uint64_t b = 4; b <= uint64_t{1} << 40; b *= 2)
          EXPECT_TRUE(b < from || faster(b)) << n << " nodes, " << b << " bytes";
        EXPECT_FALSE(from != kNever && from > 4 && faster(from / 2)) << n << " nodes, from " << from;
      }
}

TEST(Crossover, APoolBelowBreakEvenIsNeverUsedForLargeMessages) {
  Figures f;
  f.pool_rate = f.link_rate * 0.55;  // 8 nodes: .571
  EXPECT_EQ(crossover({8, 8}, f), kNever);
  f.pool_rate = f.link_rate * 0.60;
  EXPECT_NE(crossover({8, 8}, f), kNever);
}

TEST(Crossover, ASlowPathToTheReducersRaisesIt) {
  Figures slow;
  slow.chunk_us = 3000;
  EXPECT_GT(crossover({5, 5}, slow), crossover({5, 5}, kAssumed));
  EXPECT_GT(crossover({3, 3}, slow), crossover({3, 3}, kAssumed));
}

// A ring of two loads the links no more than a pool does, and has fewer hops.
TEST(Crossover, TwoNodesHaveNoneUnlessThePoolIsFasterThanTheLink) {
  EXPECT_EQ(crossover({2, 2}, kAssumed), kNever);
  Figures f;
  f.link_rate = f.pool_rate * 0.8;
  EXPECT_LT(crossover({2, 2}, f), kNever);
}

TEST(Costs, PreferredReducersAreTheLeastAndNothingElseMoves) {
  Costs c = usual();
  c.view().prefer_reducers();
  EXPECT_EQ(c.algorithm(), NCCL_TUNER_COLLNET_CHAIN);
  c.at[NCCL_TUNER_COLLNET_CHAIN][NCCL_TUNER_SIMPLE] = 70;
  EXPECT_EQ(memcmp(c.at, usual().at, sizeof c.at), 0);
}

TEST(Costs, TheCheaperOfTwoWaysToTheReducersIsTaken) {
  Costs c = usual();
  c.at[NCCL_TUNER_COLLNET_DIRECT][NCCL_TUNER_SIMPLE] = 65;
  c.view().prefer_reducers();
  EXPECT_EQ(c.algorithm(), NCCL_TUNER_COLLNET_DIRECT);
  c = usual();
  c.at[NCCL_TUNER_NVLS][NCCL_TUNER_SIMPLE] = 60;
  c.view().prefer_reducers();
  EXPECT_EQ(c.algorithm(), NCCL_TUNER_NVLS);
}

TEST(Costs, PreferredOthersWin) {
  Costs c = usual();
  c.at[NCCL_TUNER_COLLNET_DIRECT][NCCL_TUNER_SIMPLE] = 2;
  c.at[NCCL_TUNER_NVLS][NCCL_TUNER_SIMPLE] = 1;
  c.view().prefer_others();
  EXPECT_EQ(c.algorithm(), NCCL_TUNER_RING);
}

TEST(Costs, WhatTheUserForcedStays) {
  for (const bool reducers : {false, true}) {
    Costs only;
    only.at[NCCL_TUNER_COLLNET_CHAIN][NCCL_TUNER_SIMPLE] = 70;
    const Costs before = only;
    reducers ? only.view().prefer_reducers() : only.view().prefer_others();
    EXPECT_EQ(memcmp(only.at, before.at, sizeof only.at), 0);
  }
}

// Whatever NCCL offers: what is unavailable stays so to the bit, what is available stays available, the choice is on the
// side that was asked for if that side has anything, and ranks with the same table choose the same.
TEST(Costs, PropertiesOfRandomTables) {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> cost(0, 5000);
  for (int round = 0; round < 20000; ++round) {
    const int algorithms = 6 + static_cast<int>(random() % 2), protocols = 3;
    std::vector<float> table(static_cast<size_t>(algorithms * protocols));
    bool ours = false, others = false;
    for (size_t i = 0; i < table.size(); ++i) {
      const bool there = random() % 3 == 0;
      table[i] = !there ? kNo : random() % 9 == 0 ? 0.f : cost(random);
      const size_t a = i / 3;
      if (there) (a >= 2 && a <= 4 ? ours : others) = true;
    }
    const std::vector<float> before = table;
    std::vector<float> twin = table;
    const unsigned what = random() % 3;
    const int a = static_cast<int>(random() % 9) - 1, p = static_cast<int>(random() % 5) - 1;
    for (std::vector<float>* t : {&table, &twin}) {
      CostTable view(reinterpret_cast<float**>(t->data()), algorithms, protocols);
      if (what == 0) view.prefer_reducers();
      if (what == 1) view.prefer_others();
      if (what == 2) view.choose(a, p);
    }
    ASSERT_EQ(table, twin);
    size_t best = table.size();
    for (size_t i = 0; i < table.size(); ++i) {
      ASSERT_EQ(before[i] < 0, table[i] < 0);
      if (before[i] < 0) {
        ASSERT_EQ(before[i], table[i]);
        continue;
      }
      ASSERT_TRUE(std::isfinite(table[i]));
      if (best == table.size() || table[i] < table[best]) best = i;
    }
    if (best == table.size()) continue;
    const bool chose_ours = best / 3 >= 2 && best / 3 <= 4;
    ASSERT_TRUE(what != 0 || !ours || chose_ours);
    ASSERT_FALSE(what == 1 && others && chose_ours);
    if (what == 2 && a >= 0 && a < algorithms && p >= 0 && p < protocols &&
        before[static_cast<size_t>(a * 3 + p)] >= 0) {
      ASSERT_EQ(best, static_cast<size_t>(a * 3 + p));
    }
  }
}

// No table of NCCL's is like this. What it would not use is left to the bit, and something it can use remains.
TEST(Costs, OfImpossibleTables) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = INFINITY, kMax = FLT_MAX,
                  kHour = 3.6e9f;
  const float values[] = {kNo, kNan, kInf, -kInf, -0.0f, 0.0f, FLT_MIN, 1e-45f, 70, 3.59e9f, kHour, kMax, -5};
  const auto usable = [&](float x) { return x >= 0 && x < kHour; };
  for (const float ring : values)
    for (const float chain : values)
      for (int what = 0; what < 3; ++what) {
        Costs c;
        c.at[NCCL_TUNER_RING][NCCL_TUNER_LL] = ring;
        c.at[NCCL_TUNER_COLLNET_CHAIN][NCCL_TUNER_SIMPLE] = chain;
        const Costs before = c;
        if (what == 0) c.view().prefer_reducers();
        if (what == 1) c.view().prefer_others();
        if (what == 2) c.view().choose(NCCL_TUNER_COLLNET_CHAIN, NCCL_TUNER_SIMPLE);
        for (size_t i = 0; i < sizeof c.at / sizeof(float); ++i) {
          const float was = (&before.at[0][0])[i], is = (&c.at[0][0])[i];
          if (usable(was))
            EXPECT_TRUE(usable(is)) << was << " became " << is << ", " << ring << " " << chain << " " << what;
          else
            EXPECT_EQ(memcmp(&was, &is, sizeof is), 0) << was << " became " << is;
        }
        if (!usable(ring) || !usable(chain)) continue;
        const float least_ring = c.at[NCCL_TUNER_RING][NCCL_TUNER_LL],
                    least_chain = c.at[NCCL_TUNER_COLLNET_CHAIN][NCCL_TUNER_SIMPLE];
        if (what == 1)
          EXPECT_LE(least_ring, least_chain) << ring << " " << chain;  // NCCL takes the first of equal ones
        else
          EXPECT_LT(least_chain, least_ring) << ring << " " << chain << " " << what;
      }
}

TEST(Rules, TheFormOfNcclsExample) {
  const Rules r = parse_rules(
      "# a comment\n"
      "collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff\n"
      "\n"
      "allreduce,0,65536,tree,simple,2,1,-1,-1,1\r\n"
      " AllReduce , 65537, 1048576, COLLNET_CHAIN ,simple,4,4,32,1\n"
      "allgather,0,4294967295,ring,ll128,-1,-1,-1");
  EXPECT_TRUE(r.mistakes.empty()) << r.mistakes[0];
  ASSERT_EQ(r.rules.size(), 3u);
  EXPECT_EQ(r.rules[0].reg_buff, 1);
  EXPECT_EQ(r.rules[0].channels, 2);
  EXPECT_EQ(r.rules[1].algorithm, NCCL_TUNER_COLLNET_CHAIN);
  EXPECT_EQ(r.rules[1].pipe_ops, 1);
  EXPECT_EQ(r.rules[1].reg_buff, -1);
  EXPECT_EQ(r.rules[2].collective, NCCL_TUNER_ALL_GATHER);
  EXPECT_TRUE(matches(r.rules[2], {.collective = NCCL_TUNER_ALL_GATHER, .bytes = uint64_t{1} << 39}));
  EXPECT_FALSE(
      matches(r.rules[1],
              {.collective = NCCL_TUNER_ALL_REDUCE, .bytes = 70000, .nodes = 4, .ranks = 31, .pipe_ops = 1}));
  EXPECT_TRUE(
      matches(r.rules[1],
              {.collective = NCCL_TUNER_ALL_REDUCE, .bytes = 70000, .nodes = 4, .ranks = 32, .pipe_ops = 1}));
}

TEST(Rules, BadLinesAreNamedAndTheOthersHold) {
  const Rules r = parse_rules(
      "allreduce,0,1,ring,simple\n"
      "allreduce,0,1,ring,simple,-1,-1,-1\n"
      "sum,0,1,ring,simple,-1,-1,-1\n"
      "allreduce,x,1,ring,simple,-1,-1,-1\n"
      "allreduce,5,1,ring,simple,-1,-1,-1\n"
      "allreduce,0,1,rings,simple,-1,-1,-1\n"
      "allreduce,0,1,ring,,-1,-1,-1\n"
      "allreduce,0,1,ring,simple,0,-1,-1\n"
      "allreduce,0,1,ring,simple,-1,-2,-1\n"
      "allreduce,0,1,ring,simple,-1,-1,99999999999\n"
      "allreduce,0,1,ring,simple,-1,-1,-1,-1,2\n"
      "allreduce,0,1,ring,simple,-1,-1,-1,-1,-1,-1\n");
  EXPECT_EQ(r.rules.size(), 1u);
  ASSERT_EQ(r.mistakes.size(), 11u);
  EXPECT_EQ(r.mistakes[0], "line 1: 5 fields, not 8 to 10");
  EXPECT_EQ(r.mistakes[1],
            "line 3: collective \"sum\" is none of broadcast, reduce, allgather, reducescatter, allreduce");
  EXPECT_EQ(r.mistakes[2].substr(0, 22), "line 4: min_bytes \"x\" ");
}

TEST(Rules, AByteOrderMarkIsNoMistake) {
  const Rules r = parse_rules(
      "\xef\xbb\xbf"
      "allreduce,0,1,ring,simple,-1,-1,-1\r\n");
  EXPECT_TRUE(r.mistakes.empty()) << r.mistakes[0];
  EXPECT_EQ(r.rules.size(), 1u);
}

TEST(Rules, AMistakeIsOneLine) {
  const Rules r = parse_rules("all\x1b[2J\rreduce,0,1,ring,simple,-1,-1,-1");
  ASSERT_EQ(r.mistakes.size(), 1u);
  EXPECT_EQ(r.mistakes[0].substr(0, 38), "line 1: collective \"all?[2J?reduce\" is");
}

TEST(Decisions, AllReduceFromTheCrossoverOn) {
  const Tuner t({2, 2}, 65536, {});
  int channels = 0;
  Costs c = usual();
  t.decide({.collective = NCCL_TUNER_ALL_REDUCE, .bytes = 65535}, c.view(), &channels);
  EXPECT_EQ(c.algorithm(), NCCL_TUNER_RING);
  c = usual();
  t.decide({.collective = NCCL_TUNER_ALL_REDUCE, .bytes = 65536}, c.view(), &channels);
  EXPECT_EQ(c.algorithm(), NCCL_TUNER_COLLNET_CHAIN);
  EXPECT_EQ(channels, 0);
}

TEST(Decisions, OtherCollectivesAreLeftAlone) {
  const Tuner t({2, 2}, 0, {});
  for (int coll = 0; coll < 16; ++coll) {
    if (coll == NCCL_TUNER_ALL_REDUCE) continue;
    Costs c = usual();
    int channels = 0;
    t.decide({.collective = coll, .bytes = 1 << 20}, c.view(), &channels);
    EXPECT_EQ(memcmp(c.at, usual().at, sizeof c.at), 0) << coll;
  }
}

TEST(Decisions, TheFirstRuleThatCanBeFollowedComesBeforeTheModel) {
  const Rules r = parse_rules(
      "allreduce,0,4294967295,nvls,simple,-1,-1,-1\n"
      "allreduce,0,4294967295,tree,ll,3,-1,-1\n"
      "allgather,0,4294967295,ring,simple,-1,-1,-1\n");
  const Tuner t({2, 2}, 0, r.rules);
  Costs c = usual();
  int channels = 0;
  t.decide({.collective = NCCL_TUNER_ALL_REDUCE, .bytes = 1 << 20}, c.view(), &channels);
  EXPECT_EQ(c.algorithm(), NCCL_TUNER_TREE);
  EXPECT_EQ(channels, 3);
  EXPECT_EQ(c.at[NCCL_TUNER_NVLS][NCCL_TUNER_SIMPLE], kNo);
}

TEST(Decisions, OfVersion2AreOnlyWhatIsSurelyThere) {
  const Tuner t({2, 4}, 65536, {});
  EXPECT_EQ(t.decide({.collective = NCCL_TUNER_ALL_REDUCE, .bytes = 1 << 20}, true).algorithm,
            NCCL_TUNER_COLLNET_CHAIN);
  EXPECT_EQ(t.decide({.collective = NCCL_TUNER_ALL_REDUCE, .bytes = 1 << 20}, false).algorithm, -1);
  EXPECT_EQ(t.decide({.collective = NCCL_TUNER_ALL_REDUCE, .bytes = 1 << 10}, true).algorithm, -1);
  EXPECT_EQ(t.decide({.collective = NCCL_TUNER_ALL_GATHER, .bytes = 1 << 20}, true).algorithm, -1);
  const Rules r = parse_rules(
      "allreduce,0,4294967295,nvls,simple,-1,-1,-1\n"
      "allreduce,0,4294967295,collnet_direct,simple,-1,-1,-1\n"
      "broadcast,0,4294967295,tree,ll,-1,-1,-1\n"
      "broadcast,0,4294967295,ring,ll128,-1,-1,-1\n"
      "broadcast,0,4294967295,ring,ll,5,-1,-1\n");
  const Tuner ruled({2, 4}, kNever, r.rules);
  EXPECT_EQ(ruled.decide({.collective = NCCL_TUNER_ALL_REDUCE, .bytes = 9}, true).algorithm, -1);
  const Tuner::Choice c = ruled.decide({.collective = NCCL_TUNER_BROADCAST, .bytes = 9}, true);
  EXPECT_EQ(c.algorithm, NCCL_TUNER_RING);
  EXPECT_EQ(c.protocol, NCCL_TUNER_LL);
  EXPECT_EQ(c.channels, 5);
}

TEST(Making, SaysTheCrossoverInOneLine) {
  test::LogCapture log;
  Options o;
  o.pool.spec = "127.0.0.1:4000";
  const Tuner t = *make_tuner(o, {3, 6});
  EXPECT_EQ(t.from_bytes(), crossover({3, 6}, kAssumed));
  EXPECT_EQ(log.count(NCCL_LOG_INFO, "tuner: 3 nodes, 6 ranks: all-reduce from "), 1u) << log.all();
  // Nobody has measured, so there may be no session at all: the line must not promise reducers.
  EXPECT_EQ(log.count(NCCL_LOG_INFO, "no effect without a session"), 1u) << log.all();
}

TEST(Making, NothingIsDoneWhenOffOnOneNodeOrWithoutPool) {
  test::LogCapture log;
  Options o;
  o.pool.spec = "127.0.0.1:4000";
  o.tuner = false;
  Options none;
  none.tuner_file = "/dev/null";  // rules need a pool, too, through which ranks agree
  for (const Tuner& t : {*make_tuner(o, {2, 2}), *make_tuner(none, {2, 2}), *make_tuner(none, {1, 2})}) {
    Costs c = usual();
    int channels = 0;
    t.decide({.collective = NCCL_TUNER_ALL_REDUCE, .bytes = 1 << 30}, c.view(), &channels);
    t.decide({.collective = NCCL_TUNER_ALL_REDUCE, .bytes = 4}, c.view(), &channels);
    EXPECT_EQ(memcmp(c.at, usual().at, sizeof c.at), 0);
    EXPECT_EQ(t.decide({.collective = NCCL_TUNER_ALL_REDUCE, .bytes = 1 << 30}, true).algorithm, -1);
  }
  EXPECT_EQ(log.all(), "");
}

TEST(Making, AUsersAlgorithmIsLeftAlone) {
  Options o;
  o.pool.spec = "127.0.0.1:4000";
  setenv("NCCL_ALGO", "allreduce:Ring", 1);
  EXPECT_EQ(make_tuner(o, {5, 5})->from_bytes(), kNever);
  unsetenv("NCCL_ALGO");
  EXPECT_NE(make_tuner(o, {5, 5})->from_bytes(), kNever);
}

TEST(Decisions, OfVersion2AreNoneWhereTheUserChoseProtocols) {
  const Tuner t({5, 5}, 0, {});
  setenv("NCCL_PROTO", "LL", 1);
  EXPECT_EQ(t.decide({.collective = NCCL_TUNER_ALL_REDUCE, .bytes = 1 << 20}, true).algorithm, -1);
  unsetenv("NCCL_PROTO");
  EXPECT_NE(t.decide({.collective = NCCL_TUNER_ALL_REDUCE, .bytes = 1 << 20}, true).algorithm, -1);
}

TEST(Making, ABadLineOfTheFileIsAWarningThatNamesIt) {
  const std::string path = testing::TempDir() + "fanin_tuner_" + std::to_string(getpid()) + ".csv";
  std::ofstream(path) << "allreduce,0,1024,ring,ll,-1,-1,-1\nallreduce,0,1024,rong,ll,-1,-1,-1\n";
  test::LogCapture log;
  Options o;
  o.pool.spec = "127.0.0.1:4000";
  o.tuner_file = path;
  EXPECT_TRUE(make_tuner(o, {2, 2}));
  EXPECT_EQ(log.count(NCCL_LOG_WARN), 1u) << log.all();
  EXPECT_EQ(log.count(NCCL_LOG_WARN, "line 2: algorithm \"rong\" is none of"), 1u) << log.all();
  EXPECT_EQ(log.count(NCCL_LOG_INFO, "1 rules of"), 1u) << log.all();
  unlink(path.c_str());
  EXPECT_TRUE(make_tuner(o, {2, 2}));
  EXPECT_EQ(log.count(NCCL_LOG_WARN, "cannot read '" + path + "': No such file"), 1u) << log.all();
}

TEST(Making, AFileThatHoldsNoRulesIsAFewLinesOfTheLog) {
  const std::string path = testing::TempDir() + "fanin_tuner_" + std::to_string(getpid()) + ".txt";
  std::ofstream text(path);
  for (int i = 0; i < 100000; ++i) text << "some other file\n";
  text.close();
  test::LogCapture log;
  Options o;
  o.pool.spec = "127.0.0.1:4000";
  o.tuner_file = path;
  EXPECT_TRUE(make_tuner(o, {3, 3}));
  EXPECT_EQ(log.count(NCCL_LOG_WARN), 9u);
  EXPECT_EQ(log.count(NCCL_LOG_WARN, ": 99992 more lines are no rules"), 1u);
  unlink(path.c_str());
}

TEST(Making, WhatIsNoFileIsAWarningAndNotWaitedFor) {
  test::LogCapture log;
  Options o;
  o.pool.spec = "127.0.0.1:4000";
  for (const char* path : {"/dev/zero", "/tmp"}) {
    o.tuner_file = path;
    EXPECT_TRUE(make_tuner(o, {3, 3}));
    EXPECT_EQ(log.count(NCCL_LOG_WARN, std::string("cannot read '") + path + "'"), 1u) << log.all();
  }
}

void quiet(int, unsigned long, const char*, int, const char*, ...) {}

TEST(Tables, EveryVersionAsNcclCallsIt) {
  void* context = nullptr;
  int channels = 0, algorithm = -1, protocol = -1;
  Costs c = usual();
  auto* const costs = reinterpret_cast<float**>(c.at);
  const int coll = NCCL_TUNER_ALL_REDUCE;
  ASSERT_EQ(ncclTunerPlugin_v2.init(4, 2, quiet, &context), ncclSuccess);
  EXPECT_EQ(ncclTunerPlugin_v2.getCollInfo(context, coll, 4, 1, 0, 1, &algorithm, &protocol, &channels),
            ncclSuccess);
  EXPECT_EQ(ncclTunerPlugin_v2.destroy(context), ncclSuccess);
  ASSERT_EQ(ncclTunerPlugin_v3.init(4, 2, quiet, &context), ncclSuccess);
  EXPECT_EQ(ncclTunerPlugin_v3.getCollInfo(context, coll, 4, 1, costs, 7, 3, &channels), ncclSuccess);
  EXPECT_EQ(ncclTunerPlugin_v3.destroy(context), ncclSuccess);
  ASSERT_EQ(ncclTunerPlugin_v4.init(4, 2, quiet, &context), ncclSuccess);
  EXPECT_EQ(ncclTunerPlugin_v4.getCollInfo(context, coll, 4, 1, costs, 7, 3, 0, &channels), ncclSuccess);
  EXPECT_EQ(ncclTunerPlugin_v4.destroy(context), ncclSuccess);
  ncclNvlDomainInfo_v5_t domains{};
  ncclTunerConstants_v5_t constants{};
  ASSERT_EQ(ncclTunerPlugin_v5.init(&context, 7, 4, 2, quiet, &domains, &constants), ncclSuccess);
  EXPECT_EQ(ncclTunerPlugin_v5.getCollInfo(context, coll, 4, 1, costs, 7, 3, 0, &channels), ncclSuccess);
  EXPECT_EQ(ncclTunerPlugin_v5.finalize(context), ncclSuccess);
  ASSERT_EQ(ncclTunerPlugin_v6.init(&context, 7, 4, 2, quiet, &domains, &constants), ncclSuccess);
  EXPECT_EQ(ncclTunerPlugin_v6.getCollInfo(context, coll, 4, 1, costs, 7, 3, 0, &channels), ncclSuccess);
  EXPECT_EQ(ncclTunerPlugin_v6.finalize(context), ncclSuccess);
  // No pool is configured here, so that nothing is chosen.
  EXPECT_EQ(algorithm, -1);
  EXPECT_EQ(channels, 0);
  EXPECT_EQ(memcmp(c.at, usual().at, sizeof c.at), 0);
  EXPECT_NE(ncclTunerPlugin_v4.getCollInfo(nullptr, coll, 4, 1, costs, 7, 3, 0, &channels), ncclSuccess);
}

}  // namespace
}  // namespace fanin::plugin::tuner
