// Pools that cannot be used, in whole or in part, and settings that are wrong.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/nccl/cases/rig.h"

namespace fanin::test {
namespace {

// A port of this host that is taken, and refuses connections.
class ClosedPort {
 public:
  ClosedPort() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof a;
    if (bind(fd_, reinterpret_cast<sockaddr*>(&a), size) != 0 ||
        getsockname(fd_, reinterpret_cast<sockaddr*>(&a), &size) != 0)
      ADD_FAILURE() << "no port";
    address_ = "127.0.0.1:" + std::to_string(ntohs(a.sin_port));
  }
  ~ClosedPort() { close(fd_); }
  ClosedPort(const ClosedPort&) = delete;
  ClosedPort& operator=(const ClosedPort&) = delete;
  const std::string& address() const { return address_; }

 private:
  int fd_;
  std::string address_;
};

class Fallback : public NcclTest {
 protected:
  // Runs to the end with right results; what NCCL and the plugin logged.
  static std::string log_of_right_run(const std::string& arguments, const Variables& variables) {
    Ranks ranks(arguments, variables);
    EXPECT_TRUE(ranks.wait(60)) << ranks.story();
    EXPECT_TRUE(ranks.good()) << ranks.story();
    EXPECT_EQ(count(ranks.output(), ", 0 wrong, 0 segments left"), 1u) << ranks.story();
    return ranks.log();
  }
};

const char kShort[] = "-n 3 -b 64K -e 64K";

Variables collnet(const std::string& reducers, const Variables& more = {}) {
  Variables v = with_net({{"NCCL_COLLNET_ENABLE", "1"}, {"FANIN_REDUCERS", reducers}});
  for (const auto& [name, value] : more) v[name] = value;
  return v;
}

TEST_F(Fallback, NoReducerUp) {
  const ClosedPort closed;
  const std::string log = log_of_right_run(kShort, collnet(closed.address()));
  EXPECT_EQ(count(log, "does without reducers"), 3u) << log;
  EXPECT_GE(count(log, closed.address() + ": Connection refused"), 3u) << log;
}

// NCCL itself would go on over the ring: the first transfer between nodes must fail.
TEST_F(Fallback, StrictIsAnError) {
  const ClosedPort closed;
  Ranks ranks(kShort, collnet(closed.address(), {{"FANIN_STRICT", "1"}}));
  EXPECT_TRUE(ranks.wait(60)) << ranks.story();
  EXPECT_FALSE(ranks.good()) << ranks.story();
  EXPECT_GE(count(ranks.log(), "FANIN_STRICT=1"), 1u) << ranks.story();
  EXPECT_EQ(count(ranks.output(), "allreduce"), 0u) << ranks.story();
}

// One rank alone cannot reach the second reducer: all must leave it out, or NCCL hangs.
TEST_F(Fallback, ReducerOutOfReachOfOneRank) {
  Pool pool(2);
  const ClosedPort closed;
  const std::string arguments =
      std::string("-n 3 -b 1K -e 1M -f 32 -E 1:FANIN_REDUCERS=") + pool.address(0) + "," + closed.address();
  const std::string log = log_of_right_run(arguments, with_pool(pool, {{"NCCL_ALGO", "CollnetChain"}}));
  EXPECT_EQ(count(log, "uses 1 reducers ("), 3u) << log;
  EXPECT_GE(count(log, closed.address()), 1u) << "the missing one is not named: " << log;
  pool.stop();
  EXPECT_GT(pool.received(0), 0u);
  EXPECT_EQ(pool.received(1), 0u);
}

// One rank reaches none: nobody may use any.
TEST_F(Fallback, PoolOutOfReachOfOneRank) {
  Pool pool(2);
  const ClosedPort closed;
  const std::string log =
      log_of_right_run(std::string(kShort) + " -E 2:FANIN_REDUCERS=" + closed.address(), with_pool(pool));
  EXPECT_EQ(count(log, "does without reducers"), 3u) << log;
  pool.stop();
  EXPECT_EQ(pool.received(), 0u);
}

// One host lacks the plugin. The network goes by it, so nothing connects: every rank that has it ends by itself, and is not
// killed by whoever started it. Who sends to the odd rank is told at once; who is to hear from it waits for FANIN_TIMEOUT_MS.
// The odd one is NCCL's alone: it mostly ends at once too, but may wait for a connection until the job is ended.
TEST_F(Fallback, PluginMissingOnOneRank) {
  Pool pool(1);
  Ranks ranks(std::string(kShort) + " -E 1:NCCL_NET_PLUGIN=none",
              with_pool(pool, {{"FANIN_TIMEOUT_MS", "1000"}, {"FANIN_CONNECT_TIMEOUT_MS", "1000"}}));
  EXPECT_TRUE(ranks.wait(60)) << ranks.story();
  EXPECT_FALSE(ranks.good()) << ranks.story();
  for (const char* ended : {"rank 0 ended with status", "rank 2 ended with status"})
    EXPECT_EQ(count(ranks.output(), ended), 1u) << ranks.story();
  EXPECT_EQ(count(ranks.output(), "allreduce"), 0u) << ranks.story();
  EXPECT_GE(count(ranks.log(), "is not fanin's; load the same NCCL_NET_PLUGIN on every rank"), 1u)
      << ranks.story();
  EXPECT_GE(count(ranks.log(), "has not connected for 1000 ms"), 1u) << ranks.story();
  pool.stop();
  EXPECT_EQ(pool.received(), 0u);
}

// CollNet turned on in part: NCCL uses none, and the results are right.
TEST_F(Fallback, CollnetNotEnabledOnOneRank) {
  Pool pool(1);
  const std::string log =
      log_of_right_run(std::string(kShort) + " -E 1:NCCL_COLLNET_ENABLE=0", with_pool(pool));
  EXPECT_GE(count(log, "NCCL_COLLNET_ENABLE is 0"), 1u) << log;
  pool.stop();
  EXPECT_EQ(pool.received(), 0u);
}

TEST_F(Fallback, NameThatDoesNotResolve) {
  const std::string log = log_of_right_run(kShort, collnet("no-such-host.invalid:4000"));
  EXPECT_GE(count(log, "no-such-host.invalid"), 3u) << log;
  EXPECT_EQ(count(log, "does without reducers"), 3u) << log;
}

TEST_F(Fallback, UnparsableAddress) {
  const std::string log = log_of_right_run(kShort, collnet("127.0.0.1:99999"));
  EXPECT_GE(count(log, "127.0.0.1:99999"), 3u) << log;
  EXPECT_EQ(count(log, "does without reducers"), 3u) << log;
}

TEST_F(Fallback, MisspeltVariable) {
  const std::string log =
      log_of_right_run(kShort, with_net({{"NCCL_COLLNET_ENABLE", "1"}, {"FANIN_REDUCER", "127.0.0.1:1"}}));
  EXPECT_GE(count(log, "FANIN_REDUCERS"), 1u) << "the right name is not suggested: " << log;
}

TEST_F(Fallback, BadValue) {
  Pool pool(1);
  const std::string log =
      log_of_right_run(kShort, with_pool(pool, {{"FANIN_WINDOW", "plenty"}, {"NCCL_ALGO", "CollnetChain"}}));
  EXPECT_GE(count(log, "FANIN_WINDOW"), 1u) << log;
  pool.stop();
  EXPECT_GT(pool.received(), 0u) << "the default should have been used";
}

TEST_F(Fallback, CollnetNotEnabled) {
  Pool pool(1);
  const std::string log = log_of_right_run(kShort, with_net({{"FANIN_REDUCERS", pool.list()}}));
  EXPECT_GE(count(log, "NCCL_COLLNET_ENABLE"), 1u) << log;
  pool.stop();
  EXPECT_EQ(pool.received(), 0u);
}

}  // namespace
}  // namespace fanin::test
