// One rank of a job says that its pool is too small, where that is known, and nobody says anything of one that is not.
#include <gtest/gtest.h>

#include "perf/common/plugin_log.h"
#include "tests/support/collnet_rank.h"
#include "tests/support/process.h"

namespace fanin::test {
namespace {

// What the ranks of a job of three nodes warned of, sums checked.
std::vector<std::string> warnings(const std::string& reducer_rate, RankProcesses::Env env) {
  std::vector<ReducerProcess> pool;
  for (int i = 0; i < 2; i++)
    pool.emplace_back(1, std::vector<std::string>{"--advertise", "127.0.0.1" + reducer_rate});
  env["FANIN_REDUCERS"] = pool_of(pool);
  env["NCCL_SOCKET_IFNAME"] = "lo";
  RankProcesses ranks(3, env, [](Rank& rank) -> std::string {
    CollnetRank r;
    if (std::string f = r.connect(rank.group()); !f.empty()) return f;
    if (std::string f = r.run({}); !f.empty()) return f;
    if (const std::string w = perf::last_plugin_warning(); !w.empty())
      rank.say("rank " + std::to_string(rank.rank()) + ": " + w);
    return r.close();
  });
  std::vector<std::string> out;
  for (const Outcome& o : ranks.wait(milliseconds(30000))) {
    EXPECT_EQ(o.failure, "");
    out.insert(out.end(), o.lines.begin(), o.lines.end());
  }
  return out;
}

TEST(PoolWarning, OneRankSaysOnce) {
  const std::vector<std::string> said = warnings("=10G", {{"FANIN_WORKER_BW", "100G"}});
  ASSERT_EQ(said.size(), 1u);
  EXPECT_TRUE(said[0].starts_with("rank 0: ")) << said[0];
  EXPECT_NE(said[0].find(
                "the pool is too small: 2 reducers have 20 Gbit/s together, 6.7 % of what 3 nodes with 100 "
                "Gbit/s each (FANIN_WORKER_BW) have; below 75.0 % a ring is faster; 23 such reducers beat "
                "the ring, 30 have the nodes' bandwidth (fanin-topo plan --workers 3 --worker-bw 100G "
                "--reducer-bw 10G --reducers 2)"),
            std::string::npos)
      << said[0];
}

TEST(PoolWarning, NothingOfAPoolThatIsLargeEnoughOrNotKnown) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(warnings("=150G", {{"FANIN_WORKER_BW", "100G"}}), Lines());
  EXPECT_EQ(warnings("=10G", {}), Lines()) << "loopback tells no speed";
  EXPECT_EQ(warnings("", {{"FANIN_WORKER_BW", "100G"}}), Lines()) << "the reducers tell none";
  EXPECT_EQ(warnings("=10G", {{"FANIN_WORKER_BW", "0"}}), Lines());
}

}  // namespace
}  // namespace fanin::test
