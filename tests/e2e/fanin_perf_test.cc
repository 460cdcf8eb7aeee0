// The program fanin-perf: results, JSON, exit codes, a rank that dies, nothing left running.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/support/program.h"

namespace fanin::test {
namespace {

using std::chrono::milliseconds;

const std::string kPerf = "bin/fanin-perf";
constexpr milliseconds kPatience{40000};

// Every way through the program ends with right results.
TEST(FaninPerf, EveryCollectiveOverBothAlgorithms) {
  for (const char* algo : {"fanin", "ring"})
    for (const char* coll : {"all_reduce", "reduce_scatter", "all_gather"})
      for (bool in_place : {false, true}) {
        std::vector<std::string> words = {"-n", "3",    "--algo", algo,   "--coll", coll,
                                          "-b", "1000", "-e",     "300K", "-f",     "17",
                                          "-i", "2",    "-w",     "1",    "-d",     "bfloat16"};
        if (in_place) words.push_back("--in-place");
        Program p(built(kPerf), words);
        Program::Outcome o = p.wait(kPatience);
        EXPECT_EQ(o.exit_code, 0) << algo << " " << coll << ": " << o.err;
        EXPECT_NE(o.out.find("# wrong elements: 0 OK"), std::string::npos) << o.out;
      }
}

TEST(FaninPerf, JsonHoldsEverySize) {
  std::string path = testing::TempDir() + "/fanin-perf-test-" + std::to_string(getpid()) + ".json";
  Program p(built(kPerf), {"-n", "2", "-r", "2", "-b", "64K", "-e", "256K", "-f", "2", "-i", "3", "-w", "1",
                           "--json", path});
  Program::Outcome o = p.wait(kPatience);
  ASSERT_EQ(o.exit_code, 0) << o.err;
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  std::remove(path.c_str());
  for (const char* part : {"\"bytes\":65536,", "\"bytes\":131072,", "\"bytes\":262144,", "\"wrong\":0",
                           "\"reducers\":", "\"algo\":\"fanin\"", "\"median\":", "\"syscalls_per_MB\":"})
    EXPECT_NE(text.str().find(part), std::string::npos) << part << " in " << text.str();
}

// The last two columns: worker and reducer both made system calls, seen through the interposed wrappers.
TEST(FaninPerf, CountsThePluginsSystemCalls) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "nothing is counted under sanitizers";
#endif
  Program p(built(kPerf), {"-n", "2", "-b", "1M", "-e", "1M", "-i", "2", "-w", "0"});
  Program::Outcome o = p.wait(kPatience);
  ASSERT_EQ(o.exit_code, 0) << o.err;
  std::string row = o.out.substr(o.out.rfind("\n     1048576"));
  std::istringstream words(row);
  std::string word, last[2];
  std::getline(words, word);
  std::getline(words, word);
  std::istringstream columns(word);
  while (columns >> word) last[0] = last[1], last[1] = word;
  EXPECT_GT(atof(last[0].c_str()), 0) << row;
  EXPECT_GT(atof(last[1].c_str()), 0) << row;
}

TEST(FaninPerf, UsageErrorsAreOneLineAndExitTwo) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--nonsense"}, {"-d", "quad"}, {"--rank", "1"}, {"-b", "4M", "-e", "1M"}}) {
    Program p(built(kPerf), words);
    Program::Outcome o = p.wait(kPatience);
    EXPECT_EQ(o.exit_code, 2) << words[0];
    EXPECT_TRUE(o.err.starts_with("fanin-perf: ")) << o.err;
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
  }
}

TEST(FaninPerf, UnusablePoolIsAnErrorWithThePluginsReason) {
  Program p(built(kPerf), {"--reducers", "127.0.0.1:1", "-e", "64K"}, {"FANIN_CONNECT_TIMEOUT_MS=5000"});
  Program::Outcome o = p.wait(kPatience);
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_NE(o.err.find("the reducers cannot be used"), std::string::npos) << o.err;
  EXPECT_NE(o.err.find("127.0.0.1:1"), std::string::npos) << o.err;
}

TEST(FaninPerf, MissingPluginIsNamed) {
  Program p(built(kPerf), {"--plugin", "/nowhere/lib.so", "-e", "64K"});
  Program::Outcome o = p.wait(kPatience);
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_NE(o.err.find("/nowhere/lib.so"), std::string::npos) << o.err;
}

// Children of a process, from /proc.
std::vector<pid_t> children_of(pid_t parent) {
  std::ifstream file("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children");
  std::vector<pid_t> pids;
  for (pid_t pid; file >> pid;) pids.push_back(pid);
  return pids;
}

TEST(FaninPerf, RankThatDiesEndsTheRunCleanly) {
  for (const char* algo : {"fanin", "ring"}) {
    Program p(built(kPerf), {"-n", "3", "--algo", algo, "-b", "1M", "-e", "1M", "-i", "100000", "-c", "0"});
    // Reducers come first, then ranks; wait until all are there.
    size_t expected = std::string(algo) == "fanin" ? 4 : 3;
    std::vector<pid_t> pids;
    auto limit = std::chrono::steady_clock::now() + kPatience;
    while ((pids = children_of(p.pid())).size() < expected && std::chrono::steady_clock::now() < limit)
      usleep(1000);
    ASSERT_EQ(pids.size(), expected);
    kill(pids[expected - 1], SIGKILL);  // a rank, connected or still connecting
    auto since = std::chrono::steady_clock::now();
    Program::Outcome o = p.wait(kPatience);
    EXPECT_EQ(o.exit_code, 1) << algo;
    EXPECT_NE(o.err.find(": ended by signal 9"), std::string::npos) << o.err;
    EXPECT_LT(std::chrono::steady_clock::now() - since, milliseconds(20000));
    for (pid_t pid : pids) EXPECT_NE(kill(pid, 0), 0) << "left running";
  }
}

}  // namespace
}  // namespace fanin::test
