// The common verdict: reducers that cannot be used, by anyone or by one rank only.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "perf/common/plugin_log.h"
#include "tests/support/collnet_rank.h"
#include "tests/support/held_port.h"
#include "tests/support/process.h"
#include "transport/tcp/socket.h"

namespace {
// Connections of this process to this port are refused: a firewall in one rank's way.
std::atomic<uint16_t> g_blocked_port{0};
}  // namespace

// The plugin's calls bind here, because the program comes first in the loader's search order.
extern "C" [[gnu::visibility("default")]] int connect(int fd, const sockaddr* to, socklen_t length) {
  uint16_t blocked = g_blocked_port.load();
  if (blocked != 0 && to->sa_family == AF_INET &&
      ntohs(reinterpret_cast<const sockaddr_in*>(to)->sin_port) == blocked) {
    errno = ECONNREFUSED;
    return -1;
  }
  return static_cast<int>(syscall(SYS_connect, fd, to, length));
}

namespace fanin::test {
namespace {

TEST(Fallback, NoReducerUp) {
  const HeldPort dead;
  RankProcesses ranks(3, {{"FANIN_REDUCERS", dead.text()}, {"FANIN_CONNECT_TIMEOUT_MS", "5000"}},
                      [](Rank& rank) -> std::string {
                        CollnetRank r;
                        if (std::string f = r.connect(rank.group(), false); !f.empty()) return f;
                        if (r.usable()) return "connected to nothing";
                        rank.say(perf::last_plugin_warning());
                        return "";
                      });
  std::string said;
  for (const Outcome& o : ranks.wait(milliseconds(30000))) {
    EXPECT_EQ(o.failure, "");
    for (const std::string& line : o.lines) said += line;
  }
  EXPECT_NE(said.find(dead.text()), std::string::npos) << said;
}

TEST(Fallback, StrictMakesItAnError) {
  const HeldPort dead;
  RankProcesses ranks(
      3, {{"FANIN_REDUCERS", dead.text()}, {"FANIN_CONNECT_TIMEOUT_MS", "5000"}, {"FANIN_STRICT", "1"}},
      [](Rank& rank) -> std::string {
        CollnetRank r;
        std::string failure = r.connect(rank.group(), false);
        return failure.starts_with("connect: nccl") ? "" : "no error but '" + failure + "'";
      });
  for (const Outcome& o : ranks.wait(milliseconds(30000))) EXPECT_EQ(o.failure, "");
}

TEST(Fallback, NoPoolNamed) {
  EXPECT_EQ(run_ranks(2, {{"FANIN_REDUCERS", ""}},
                      [](Rank& rank) -> std::string {
                        CollnetRank r;
                        std::string failure = r.connect(rank.group(), false);
                        if (!failure.empty()) return failure;
                        if (r.usable()) return "usable without a pool";
                        return perf::last_plugin_line().find("FANIN_REDUCERS is not set") == std::string::npos
                                   ? "the warning does not say how to name a pool: " +
                                         perf::last_plugin_warning()
                                   : "";
                      }),
            "");
}

// Every rank must decide the same, whatever one of them can reach; and what they decide must work.
TEST(Verdict, OneReducerUnreachableFromOneRank) {
  std::vector<ReducerProcess> pool;
  for (int i = 0; i < 2; i++) pool.emplace_back(2);
  for (int blocked_rank : {0, 2}) {
    RankProcesses ranks(3, {{"FANIN_REDUCERS", pool_of(pool)}, {"FANIN_CONNECT_TIMEOUT_MS", "5000"}},
                        [&](Rank& rank) -> std::string {
                          if (rank.rank() == blocked_rank) g_blocked_port = pool[1].port();
                          CollnetRank r;
                          if (std::string f = r.connect(rank.group(), false); !f.empty()) return f;
                          rank.say(r.usable() ? "reducers" : "ring");
                          if (!r.usable()) return "";
                          for (uint64_t i = 0; i < 5; i++)
                            if (std::string f = r.run({.seed = i}); !f.empty()) return f;
                          return r.close();
                        });
    std::vector<Outcome> outcomes = ranks.wait(milliseconds(30000));
    for (const Outcome& o : outcomes) {
      EXPECT_EQ(o.failure, "");
      ASSERT_EQ(o.lines.size(), 1u);
      EXPECT_EQ(o.lines[0], outcomes[0].lines[0]) << "the verdicts differ";
    }
    EXPECT_EQ(outcomes[0].lines[0], "reducers") << "one reducer is reachable from all";
  }
}

TEST(Verdict, TheOnlyReducerUnreachableFromOneRank) {
  ReducerProcess reducer(2);
  EXPECT_EQ(run_ranks(3, {{"FANIN_REDUCERS", reducer.address()}, {"FANIN_CONNECT_TIMEOUT_MS", "5000"}},
                      [&](Rank& rank) -> std::string {
                        if (rank.rank() == 1) g_blocked_port = reducer.port();
                        CollnetRank r;
                        if (std::string f = r.connect(rank.group(), false); !f.empty()) return f;
                        return r.usable() ? "usable though rank 1 cannot reach the reducer" : "";
                      }),
            "");
  EXPECT_TRUE(reducer.running()) << reducer.said();
  // The half-made session left nothing behind that would keep a new one out.
  EXPECT_EQ(
      run_ranks(3, {{"FANIN_REDUCERS", reducer.address()}}, [](Rank& rank) { return run_cases(rank, {{}}); }),
      "");
}

}  // namespace
}  // namespace fanin::test
