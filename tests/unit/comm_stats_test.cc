// What a communicator tells of itself: times, the line in the log, the line in FANIN_STATS_FILE.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "plugin/collnet/comm_stats.h"
#include "plugin/collnet/time_histogram.h"
#include "plugin/stats_file.h"

namespace fanin::plugin {
namespace {

using collnet::CommStats;
using collnet::TimeHistogram;
using std::chrono::nanoseconds;

TEST(TimeHistogram, QuantilesAreAnEighthTooLargeAtMost) {
  std::mt19937_64 random(1);
  std::vector<uint64_t> all;
  TimeHistogram h;
  for (int i = 0; i < 20000; ++i) {
    const uint64_t ns = random() >> (24 + random() % 36);
    all.push_back(ns);
    h.add(nanoseconds(ns));
  }
  std::sort(all.begin(), all.end());
  for (double q : {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto exact = static_cast<double>(all[static_cast<size_t>(q * 20000) - 1]);
    const auto said = static_cast<double>(h.quantile(q).count());
    EXPECT_GE(said, exact) << q;
    EXPECT_LE(said, exact * 1.125 + 1) << q;
  }
  EXPECT_EQ(h.quantile(1.0).count(), static_cast<int64_t>(all.back()));
  EXPECT_EQ(h.most().count(), static_cast<int64_t>(all.back()));
  EXPECT_EQ(h.count(), 20000u);
}

TEST(TimeHistogram, TakesAnyTime) {
  TimeHistogram h;
  EXPECT_EQ(h.quantile(0.99).count(), 0);
  EXPECT_EQ(h.mean().count(), 0);
  h.add(nanoseconds(-5));
  EXPECT_EQ(h.quantile(0.99).count(), 0);
  h.add(nanoseconds(INT64_MAX));
  EXPECT_EQ(h.count(), 2u);
  EXPECT_GT(h.quantile(0.99).count(), 0);
  for (int64_t ns : {1, 15, 16, 17, 127, 128, 1000000}) {
    TimeHistogram one;
    one.add(nanoseconds(ns));
    EXPECT_EQ(one.quantile(0.99).count(), ns);
    EXPECT_EQ(one.mean().count(), ns);
  }
}

CommStats example() {
  CommStats s;
  s.session = "0a0b0c0d";
  s.rank = 1;
  s.nranks = 4;
  s.life = nanoseconds(12'300'000'000);
  s.messages = s.completed = 17;
  s.bytes = 1 << 20;
  s.mean = nanoseconds(1'200'000);
  s.p50 = nanoseconds(900'000);
  s.p99 = nanoseconds(2'500'000'000);
  s.most = nanoseconds(3'000'000'000);
  s.reducers = {{"a:4000", 2, 3}, {"b:4000", 2, 9}};
  return s;
}

TEST(CommStats, TheLineNamesTheSlowestReducer) {
  EXPECT_EQ(summary_of(example()),
            "17 messages, 1048576 bytes, mean 1.20 ms, p99 2.50 s, longest 3.00 s; slowest reducer b:4000 "
            "(last in 75 % of "
            "those on several lanes)");
  CommStats one = example();
  one.reducers.pop_back();
  one.messages = 18;
  EXPECT_EQ(
      summary_of(one),
      "18 messages, 1048576 bytes, mean 1.20 ms, p99 2.50 s, longest 3.00 s (not all of them completed)");
  EXPECT_EQ(summary_of(CommStats()), "0 messages, 0 bytes");
}

TEST(CommStats, TheObjectIsJsonOnOneLine) {
  CommStats s = example();
  s.failure = "rank 3 said \"no\"\n";
  const std::string line = json_of(s, 1764655200.125, "node-1", 77);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const nlohmann::json j = nlohmann::json::parse(line);
  EXPECT_EQ(j["time"], 1764655200.125);
  EXPECT_EQ(j["host"], "node-1");
  EXPECT_EQ(j["pid"], 77);
  EXPECT_EQ(j["session"], "0a0b0c0d");
  EXPECT_EQ(j["rank"], 1);
  EXPECT_EQ(j["p99_us"], 2.5e6);
  EXPECT_EQ(j["reducers"][1]["last"], 9);
  EXPECT_EQ(j["failure"], "rank 3 said \"no\"\n");
}

TEST(StatsFile, NamesHaveHostAndProcess) {
  EXPECT_EQ(stats_path("/x/%h-%p.json", "node", 12), "/x/node-12.json");
  EXPECT_EQ(stats_path("%%h%", "node", 12), "%h%");
  EXPECT_EQ(stats_path("%q%h", "%p", 12), "%q%p");
}

class StatsFileOnDisk : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/fanin-stats-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    path_ = folder_ + "/stats";
  }
  void TearDown() override {
    unlink(path_.c_str());
    rmdir(folder_.c_str());
  }
  std::string folder_, path_;
};

TEST_F(StatsFileOnDisk, LinesOfManyProcessesStayWhole) {
  constexpr int kProcesses = 8, kLines = 300;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p)
    if (const pid_t child = fork(); child == 0) {
      const std::string line =
          std::string(static_cast<size_t>(100 + 400 * p), static_cast<char>('a' + p)) + "\n";
      for (int i = 0; i < kLines; ++i)
        if (!append_line(path_, line)) _exit(1);
      _exit(0);
    } else {
      children.push_back(child);
    }
  for (pid_t child : children) {
    int status = 1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  std::map<std::string, int> seen;
  std::ifstream in(path_);
  for (std::string line; std::getline(in, line);) ++seen[line];
  ASSERT_EQ(seen.size(), static_cast<size_t>(kProcesses));
  for (auto& [line, n] : seen) EXPECT_EQ(n, kLines) << line.substr(0, 1);
}

TEST_F(StatsFileOnDisk, AFullDiskLeavesNoHalfOfALine) {
  ASSERT_TRUE(append_line(path_, "{\"first\":1}\n"));
  if (const pid_t child = fork(); child == 0) {
    // A limit on the file's size writes short as a full disk does.
    const rlimit limit{30, 30};
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(2);
    _exit(append_line(path_, "{\"second\":\"" + std::string(100, 'x') + "\"}\n") ? 1 : 0);
  } else {
    int status = 1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  ASSERT_TRUE(append_line(path_, "{\"third\":3}\n"));
  std::ifstream in(path_);
  std::stringstream all;
  all << in.rdbuf();
  EXPECT_EQ(all.str(), "{\"first\":1}\n{\"third\":3}\n");
}

TEST_F(StatsFileOnDisk, WhatCannotBeWrittenIsAnErrorAtOnce) {
  EXPECT_FALSE(append_line(folder_ + "/none/stats", "x\n"));
  EXPECT_FALSE(append_line(folder_, "x\n"));
  EXPECT_FALSE(append_line("/dev/full", "x\n"));
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_FALSE(append_line(path_, "x\n")) << "nobody reads it";
}

}  // namespace
}  // namespace fanin::plugin
