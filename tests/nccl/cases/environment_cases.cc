// CollNet and the net plugin without a variable of NCCL's: the environment plugin, and what wins over it.
#include <cstdlib>
#include <fstream>

#include "tests/nccl/cases/rig.h"

namespace fanin::test {
namespace {

// As a user installs it: a folder on the library path. What NCCL needs of ours is found from there.
class Environment : public NcclTest {
 protected:
  static constexpr char kRun[] = "-n 3 -b 64K -e 64K";

  static Variables installed(const Variables& more) {
    const char* path = getenv("LD_LIBRARY_PATH");
    Variables v = {{"LD_LIBRARY_PATH", built("lib") + (path && *path ? ":" + std::string(path) : "")},
                   {"NCCL_SOCKET_IFNAME", "=lo"}};
    for (const auto& [name, value] : more) v[name] = value;
    return v;
  }

  struct Run {
    std::string log;
    uint64_t received = 0;
  };
  // With one variable of ours (the pool) and `more`.
  static Run run(bool pool_named, const Variables& more = {}) {
    Pool pool(1);
    Variables v = installed(more);
    if (pool_named) v["FANIN_REDUCERS"] = pool.list();
    Ranks ranks(kRun, v);
    EXPECT_TRUE(ranks.wait(60)) << ranks.story();
    EXPECT_TRUE(ranks.good()) << ranks.story();
    EXPECT_EQ(count(ranks.output(), ", 0 wrong, 0 segments left"), 1u) << ranks.story();
    pool.stop();
    return {ranks.log(), pool.received()};
  }
};

TEST_F(Environment, NamingThePoolIsEnough) {
  const Run r = run(true);
  EXPECT_GT(r.received, 0u) << r.log;
  EXPECT_EQ(count(r.log, "WARN"), 0u) << r.log;
}

TEST_F(Environment, AJobThatNamesNoPoolIsLeftAlone) {
  const Run r = run(false);
  EXPECT_EQ(r.received, 0u);
  EXPECT_EQ(count(r.log, "Using network Socket"), 3u) << r.log;
}

TEST_F(Environment, TheUsersVariableWins) {
  const Run r = run(true, {{"NCCL_COLLNET_ENABLE", "0"}});
  EXPECT_EQ(r.received, 0u);
  EXPECT_EQ(count(r.log, "Using network fanin"), 3u) << r.log;
}

TEST_F(Environment, TheConfigurationFileWins) {
  Folder folder;
  std::ofstream(folder.path() + "/nccl.conf") << "NCCL_COLLNET_ENABLE=0\n";
  const Run r = run(true, {{"NCCL_CONF_FILE", folder.path() + "/nccl.conf"}});
  EXPECT_EQ(r.received, 0u);
  EXPECT_EQ(count(r.log, "Using network fanin"), 3u) << r.log;
}

TEST_F(Environment, NoneKeepsItOut) {
  const Run r = run(true, {{"NCCL_ENV_PLUGIN", "none"}});
  EXPECT_EQ(r.received, 0u);
  EXPECT_EQ(count(r.log, "Using network Socket"), 3u) << r.log;
}

// The snippet that is installed for NCCL releases without environment plugins.
TEST_F(Environment, TheConfigurationSnippetTurnsItOn) {
  const Run r = run(true, {{"NCCL_ENV_PLUGIN", "none"}, {"NCCL_CONF_FILE", "deploy/nccl.conf"}});
  EXPECT_GT(r.received, 0u) << r.log;
}

}  // namespace
}  // namespace fanin::test
