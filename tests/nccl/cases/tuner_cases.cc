// The tuner under the real NCCL with no NCCL_ALGO: a ring or tree below the crossover, the reducers from it on, and every
// rank the same.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <thread>

#include "tests/nccl/cases/rig.h"

namespace fanin::test {
namespace {

class TunerCases : public NcclTest {
 protected:
  // By size of all-reduce the algorithms rank 0 took; only it logs them. That the others took the same shows in that the run
  // ends, with right results: where ranks differ NCCL hangs.
  struct Took {
    std::set<std::string> algorithms;
  };
  static std::map<uint64_t, Took> took(const std::string& log) {
    static const std::regex line("AllReduce: ([0-9]+) Bytes -> Algo ([A-Z_]+) ");
    std::map<uint64_t, Took> out;
    for (std::sregex_iterator m(log.begin(), log.end(), line), end; m != end; ++m) {
      out[std::stoull((*m)[1])].algorithms.insert((*m)[2]);
    }
    return out;
  }
  // The size all ranks' one line says; 0 for "of any size", kNever. -1: they differ, or say another thing.
  static constexpr int64_t kNever = INT64_MAX;
  static int64_t crossover(const std::string& log, size_t ranks) {
    static const std::regex line(
        "fanin : tuner: .* all-reduce (from ([0-9.]+) (bytes|KiB|MiB) on|of any size|never) through");
    std::set<int64_t> sizes;
    size_t lines = 0;
    for (std::sregex_iterator m(log.begin(), log.end(), line), end; m != end; ++m, ++lines) {
      if (!(*m)[2].matched) {
        sizes.insert((*m)[1] == "never" ? kNever : 0);
        continue;
      }
      const double unit = (*m)[3] == "bytes" ? 1 : (*m)[3] == "KiB" ? 1024 : 1024 * 1024;
      sizes.insert(static_cast<int64_t>(std::stod((*m)[2]) * unit));
    }
    return sizes.size() == 1 && lines == ranks ? *sizes.begin() : -1;
  }
  static bool through_reducers(const Took& t) {
    return t.algorithms.size() == 1 && t.algorithms.begin()->starts_with("COLLNET");
  }

  struct Run {
    std::string log, story;
    uint64_t summed = 0;
    std::map<uint64_t, Took> took;
  };
  static Run run(int reducers, const std::string& arguments, Variables more = {}, double seconds = 90,
                 const std::function<void(Pool&)>& meanwhile = {}) {
    Pool pool(reducers, 1);
    more.emplace("NCCL_DEBUG_SUBSYS", "INIT,ENV,NET,TUNING,COLL");
    Ranks ranks(arguments, with_pool(pool, more));
    if (meanwhile) meanwhile(pool);
    EXPECT_TRUE(ranks.wait(seconds)) << ranks.story();
    EXPECT_TRUE(ranks.good()) << ranks.story();
    EXPECT_EQ(count(ranks.output(), ", 0 wrong, 0 segments left"), 1u) << ranks.story();
    pool.stop();
    return {ranks.log(), ranks.story(), pool.summed(), took(ranks.log())};
  }
  // All ranks named the same crossover, and what was taken goes by it.
  static void expect_agreement(const Run& r, size_t ranks) {
    const int64_t from = crossover(r.log, ranks);
    EXPECT_GE(from, 0) << r.story;
    EXPECT_FALSE(r.took.empty()) << r.story;
    for (const auto& [bytes, took] : r.took) {
      EXPECT_EQ(took.algorithms.size(), 1u) << bytes << " bytes\n" << r.story;
      EXPECT_EQ(through_reducers(took), static_cast<int64_t>(bytes) >= from) << bytes << " bytes\n"
                                                                             << r.story;
    }
  }
};

const Variables kSmall = {{"NCCL_BUFFSIZE", "1048576"}, {"NCCL_MAX_NCHANNELS", "1"}};

// The tables of NCCL 2.22 to 2.27, with which nothing is measured: the crossover is the same on every machine.
class TunerOlder : public TunerCases, public testing::WithParamInterface<const char*> {
 protected:
  static Variables library() {
    return {{"NCCL_NET_PLUGIN", built(std::string("tests/only_") + GetParam() + "/libnccl-net-fanin.so")}};
  }
};
INSTANTIATE_TEST_SUITE_P(, TunerOlder, testing::Values("v9", "v10"),
                         [](const auto& i) { return std::string(i.param); });

TEST_P(TunerOlder, BelowTheCrossoverNothingGoesToTheReducersAndAboveItDoes) {
  const Run all = run(2, "-n 3 -b 1K -e 1M -f 4", library());
  expect_agreement(all, 3);
  const int64_t from = crossover(all.log, 3);
  ASSERT_EQ(from, 24 << 10) << all.story;
  const Run below = run(2, "-n 3 -b 1K -e " + std::to_string(from / 2) + " -f 4", library());
  EXPECT_EQ(below.summed, 0u) << below.story;
  const Run above = run(2, "-n 3 -b " + std::to_string(from) + " -e " + std::to_string(from), library());
  EXPECT_GT(above.summed, 0u) << above.story;
}

// 2.21. Without NCCL_PROTO, which the device sets, since version 2 cannot see what that leaves.
TEST_F(TunerCases, Version2ChoosesTheChain) {
  const Run r = run(2, "-n 3 -b 1M -e 1M",
                    {{"NCCL_NET_PLUGIN", built("tests/only_v8/libnccl-net-fanin.so")}, {"NCCL_PROTO", ""}});
  ASSERT_EQ(r.took.size(), 1u) << r.story;
  EXPECT_EQ(r.took.begin()->second.algorithms, std::set<std::string>{"COLLNET_CHAIN"}) << r.story;
  EXPECT_GT(r.summed, 0u) << r.story;
}

TEST_F(TunerCases, FiveNodesAgree) { expect_agreement(run(5, "-n 5 -b 1K -e 1M -f 4"), 5); }

// Some ranks have no session of their own.
TEST_F(TunerCases, ThreeNodesOfTwoAgree) {
  expect_agreement(run(2, "-n 6 -g 2 -b 1K -e 256K -f 4", kSmall), 6);
}

TEST_F(TunerCases, FiveNodesOfEightAgree) {
  expect_agreement(run(2, "-T -n 40 -g 8 -b 1K -e 64K -f 16", kSmall, 150), 40);
}

TEST_F(TunerCases, OneSlowReducerAndAllAgree) {
  const auto slow = [](Pool& pool) {
    for (int i = 0; i < 8; ++i) {
      kill(pool.pid(1), SIGSTOP);
      std::this_thread::sleep_for(std::chrono::milliseconds(150));
      kill(pool.pid(1), SIGCONT);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  };
  expect_agreement(run(2, "-n 3 -b 1K -e 256K -f 4", {}, 90, slow), 3);
}

// Two nodes: a ring is as fast, and NCCL's own estimate, which is for CollNet here, is overruled.
TEST_F(TunerCases, TwoNodesOfTwoUseTheRing) {
  const Run r = run(2, "-n 4 -g 2 -b 64K -e 1M -f 16");
  EXPECT_EQ(r.summed, 0u) << r.story;
  for (const auto& [bytes, took] : r.took) EXPECT_EQ(took.algorithms.size(), 1u) << bytes << "\n" << r.story;
}

TEST_F(TunerCases, OffItIsNcclsOwnChoice) {
  const Run off = run(1, "-n 3 -b 1K -e 1K", {{"FANIN_TUNER", "0"}});
  EXPECT_EQ(count(off.log, "fanin : tuner"), 0u) << off.story;
  EXPECT_GT(off.summed, 0u) << "NCCL's estimates changed; find another size at which it differs from ours\n"
                            << off.story;
}

TEST_F(TunerCases, TheUsersAlgorithmStays) {
  const Run r = run(1, "-n 3 -b 1M -e 1M", {{"NCCL_ALGO", "Ring"}});
  EXPECT_EQ(r.summed, 0u) << r.story;
  EXPECT_EQ(count(r.log, "tuner: NCCL_ALGO is set"), 3u) << r.story;
}

TEST_F(TunerCases, WithoutASessionNothingChanges) {
  const Run r = run(1, "-n 3 -b 1M -e 1M", {{"FANIN_REDUCERS", "127.0.0.1:1"}});
  EXPECT_EQ(r.summed, 0u) << r.story;
  ASSERT_EQ(r.took.size(), 1u) << r.story;
  EXPECT_FALSE(through_reducers(r.took.begin()->second)) << r.story;
}

TEST_F(TunerCases, RulesOfAFile) {
  Folder folder;
  const std::string path = folder.path() + "/rules.csv";
  std::ofstream(path) << "allreduce,0,4294967295,nvls,simple,-1,-1,-1\n"  // not available here
                         "allreduce,0,65536,collnet_chain,simple,-1,3,3\n"
                         "allreduce,65537,4294967295,tree,simple,1,-1,-1\n"
                         "allreduce,none\n";
  const Run r = run(1, "-n 3 -b 1K -e 1M -f 1024", {{"FANIN_TUNER_FILE", path}});
  ASSERT_EQ(r.took.size(), 2u) << r.story;
  EXPECT_EQ(r.took.at(1024).algorithms, std::set<std::string>{"COLLNET_CHAIN"}) << r.story;
  EXPECT_EQ(r.took.at(1 << 20).algorithms, std::set<std::string>{"TREE"}) << r.story;
  EXPECT_EQ(count(r.log, "line 4: 2 fields, not 8 to 10"), 3u) << r.story;
}

// A folder with nothing but our library on the library path: a job that does not name it never opens it.
TEST_F(TunerCases, AFolderWithOurFilesChangesNothing) {
  Folder folder;
  const std::string library = folder.path() + "/libnccl-net-fanin.so";
  ASSERT_EQ(symlink(built("lib/libnccl-net-fanin.so").c_str(), library.c_str()), 0);
  const char* path = getenv("LD_LIBRARY_PATH");
  Ranks ranks("-n 2 -b 1K -e 64K -f 8",
              {{"LD_LIBRARY_PATH", folder.path() + (path && *path ? ":" + std::string(path) : "")},
               {"NCCL_COLLNET_ENABLE", "1"},
               {"NCCL_SOCKET_IFNAME", "=lo"}});
  EXPECT_TRUE(ranks.wait(60)) << ranks.story();
  EXPECT_TRUE(ranks.good()) << ranks.story();
  EXPECT_EQ(count(ranks.log(), "fanin"), 0u) << ranks.log();
  EXPECT_EQ(count(ranks.log(), "Using network Socket"), 2u) << ranks.log();
}

}  // namespace
}  // namespace fanin::test
