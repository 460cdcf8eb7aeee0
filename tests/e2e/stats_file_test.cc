// FANIN_STATS_FILE: what a job's communicators leave behind.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/collnet_rank.h"
#include "tests/support/process.h"

namespace fanin::test {
namespace {

class StatsFile : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/fanin-stats-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    unlink((folder_ + "/all").c_str());
    rmdir(folder_.c_str());
  }
  std::string folder_;
};

TEST_F(StatsFile, HasALineForEachCommunicatorOfEachProcess) {
  constexpr int kRanks = 3, kMessages = 20;
  std::vector<ReducerProcess> pool;
  for (int i = 0; i < 2; i++) pool.emplace_back(2);
  const std::string path = folder_ + "/all";
  const std::string failures =
      run_ranks(kRanks, {{"FANIN_REDUCERS", pool_of(pool)}, {"FANIN_STATS_FILE", path}}, [](Rank& rank) {
        std::vector<CollnetRank::Case> cases;
        for (uint64_t i = 0; i < kMessages; i++) cases.push_back({.bytes = 1 << 20, .seed = i});
        return run_cases(rank, cases);
      });
  ASSERT_EQ(failures, "");
  std::ifstream in(path);
  std::set<int> ranks, pids;
  std::set<std::string> sessions;
  for (std::string line; std::getline(in, line);) {
    const nlohmann::json j = nlohmann::json::parse(line, nullptr, false);
    ASSERT_TRUE(j.is_object()) << line;
    ranks.insert(j["rank"].get<int>());
    pids.insert(j["pid"].get<int>());
    sessions.insert(j["session"].get<std::string>());
    EXPECT_EQ(j["nranks"], kRanks);
    const int messages = j["messages"];  // each collective is several, as with NCCL
    EXPECT_GE(messages, kMessages);
    EXPECT_EQ(messages % kMessages, 0);
    EXPECT_EQ(j["completed"], messages);
    EXPECT_EQ(j["bytes"], kMessages << 20);
    EXPECT_EQ(j["failure"], "");
    EXPECT_GT(j["mean_us"], 0);
    EXPECT_LE(j["p50_us"], j["p99_us"]);
    EXPECT_LE(j["p99_us"], j["max_us"]);
    EXPECT_LT(j["max_us"].get<double>(), 1e6 * j["life_seconds"].get<double>());
    ASSERT_EQ(j["reducers"].size(), pool.size()) << line;
    int last = 0;
    for (const auto& r : j["reducers"]) {
      EXPECT_EQ(r["lanes"], 2);
      last += r["last"].get<int>();
    }
    EXPECT_GT(last, 0);
    EXPECT_LE(last, messages);
  }
  EXPECT_EQ(ranks, (std::set<int>{0, 1, 2}));
  EXPECT_EQ(pids.size(), 3u);
  ASSERT_EQ(sessions.size(), 1u);
  // The same name as in the reducers' logs.
  EXPECT_NE(pool[0].said().find("session " + *sessions.begin() + ": 3 ranks"), std::string::npos)
      << pool[0].said();
}

// Not being able to write it fails nothing.
TEST_F(StatsFile, ThatCannotBeWrittenFailsNoJob) {
  std::vector<ReducerProcess> pool;
  pool.emplace_back(1);
  EXPECT_EQ(run_ranks(2, {{"FANIN_REDUCERS", pool_of(pool)}, {"FANIN_STATS_FILE", folder_ + "/none/x"}},
                      [](Rank& rank) { return run_cases(rank, {{.bytes = 4096}}); }),
            "");
}

// A reducer that is slower than the others is named: its lanes are last.
TEST_F(StatsFile, NamesTheReducerThatIsLast) {
  std::vector<ReducerProcess> pool;
  for (int i = 0; i < 2; i++) pool.emplace_back(1);
  const std::string path = folder_ + "/all", slow = pool[1].address();
  int go[2];
  ASSERT_EQ(pipe(go), 0);
  Fd go_read(go[0]), go_write(go[1]);
  RankProcesses ranks(2, {{"FANIN_REDUCERS", pool_of(pool)}, {"FANIN_STATS_FILE", path}},
                      [&](Rank& rank) -> std::string {
                        go_write.reset();
                        CollnetRank r;
                        if (std::string f = r.connect(rank.group()); !f.empty()) return f;
                        rank.say("connected");
                        char byte;
                        if (::read(go_read.get(), &byte, 1) != 0) return "read";
                        for (uint64_t i = 0; i < 5; i++)
                          if (std::string f = r.run({.bytes = 256 << 10, .seed = i}); !f.empty()) return f;
                        return r.close();
                      });
  for (int r = 0; r < 2; r++) ASSERT_TRUE(ranks.wait_for(r, "connected", milliseconds(20000)));
  // It is stopped, and goes on for a moment at a time: each message waits for it.
  pool[1].signal(SIGSTOP);
  go_write.reset();
  for (int r = 0; r < 2; r++)
    while (!ranks.wait_end(r, milliseconds(20))) {
      pool[1].signal(SIGCONT);
      if (ranks.wait_end(r, milliseconds(1))) break;
      pool[1].signal(SIGSTOP);
    }
  pool[1].signal(SIGCONT);
  for (const Outcome& o : ranks.wait(milliseconds(20000))) EXPECT_EQ(o.failure, "");
  std::ifstream in(path);
  int lines = 0;
  for (std::string line; std::getline(in, line); ++lines) {
    const nlohmann::json j = nlohmann::json::parse(line, nullptr, false);
    ASSERT_TRUE(j.is_object()) << line;
    for (const auto& r : j["reducers"])
      if (r["name"] == slow) {
        EXPECT_GE(r["last"], 4) << line;
      }
  }
  EXPECT_EQ(lines, 2);
}

}  // namespace
}  // namespace fanin::test
