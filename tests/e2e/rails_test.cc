// Hosts with two NICs in two subnets: each NIC's communicator stays in its subnet, and goes the other way when it is cut.
// The hosts are network namespaces on two bridges, the programs the real ones.
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/support/private_network.h"
#include "tests/support/program.h"

namespace fanin::test {
namespace {

using std::chrono::milliseconds;
using Words = std::vector<std::string>;

// A network namespace, alive as long as its process. Made before there are threads.
class Host {
 public:
  Host() {
    int ready[2];
    if (pipe(ready) != 0) abort();
    pid_ = fork();
    if (pid_ == 0) {
      if (unshare(CLONE_NEWNET) != 0 || !set_loopback(true) || write(ready[1], "", 1) != 1) _exit(1);
      close(ready[1]);
      close(ready[0]);
      for (;;) pause();
    }
    close(ready[1]);
    char byte;
    up_ = read(ready[0], &byte, 1) == 1;
    close(ready[0]);
  }
  ~Host() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  bool up() const { return up_; }
  std::string pid() const { return std::to_string(pid_); }
  // To run a program there.
  Words inside(const std::string& file, const Words& args) const {
    Words all = {"-t", pid(), "-n", file};
    all.insert(all.end(), args.begin(), args.end());
    return all;
  }
  bool run(const std::string& command) const {
    return system(("nsenter -t " + pid() + " -n " + command + " >/dev/null 2>&1").c_str()) == 0;
  }

 private:
  pid_t pid_ = -1;
  bool up_ = false;
};

bool sh(const std::string& command) { return system((command + " >/dev/null 2>&1").c_str()) == 0; }

// Two workers and a reducer on two switches: host h has 10.80.<nic>.<h + 1> on nic0 and nic1.
class TwoSubnets {
 public:
  enum { kWorker0, kWorker1, kReducer, kHosts };
  TwoSubnets() {
    for (int nic = 0; nic < 2; ++nic) {
      const std::string bridge = "sw" + std::to_string(nic);
      ok_ &= sh("ip link add " + bridge + " type bridge") && sh("ip link set " + bridge + " up");
      for (int h = 0; h < kHosts; ++h) {
        const std::string name = "nic" + std::to_string(nic), peer = port(h, nic);
        ok_ &= host(h).up() &&
               sh("ip link add " + peer + " type veth peer name " + name + " netns " + host(h).pid()) &&
               sh("ip link set " + peer + " master " + bridge + " up") &&
               host(h).run("ip addr add " + ip(h, nic) + "/24 dev " + name) &&
               host(h).run("ip link set " + name + " up");
      }
    }
  }
  ~TwoSubnets() {
    for (int nic = 0; nic < 2; ++nic) {
      for (int h = 0; h < kHosts; ++h) sh("ip link del " + port(h, nic));
      sh("ip link del sw" + std::to_string(nic));
    }
  }
  bool ok() const { return ok_; }
  Host& host(int h) { return hosts_[h]; }
  static std::string ip(int h, int nic) {
    return "10.80." + std::to_string(nic) + "." + std::to_string(h + 1);
  }
  // The switch no longer carries a host's NIC; the host does not notice.
  bool cut(int h, int nic) { return sh("ip link set " + port(h, nic) + " nomaster"); }
  // Bytes that came in on a NIC of a host.
  uint64_t received(int h, int nic) {
    std::ifstream in("/proc/" + host(h).pid() + "/net/dev");
    for (std::string line; std::getline(in, line);)
      if (const size_t at = line.find("nic" + std::to_string(nic) + ":"); at != std::string::npos)
        return std::stoull(line.substr(at + 5));
    return 0;
  }

 private:
  static std::string port(int h, int nic) { return "p" + std::to_string(h) + "-" + std::to_string(nic); }
  Host hosts_[kHosts];
  bool ok_ = true;
};

std::string g_why_not;
class Environment : public testing::Environment {
  void SetUp() override { g_why_not = enter_private_network(); }
};
[[maybe_unused]] testing::Environment* const g_environment =
    testing::AddGlobalTestEnvironment(new Environment);

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

constexpr uint64_t kBytes = 4 << 20;

class Rails : public testing::Test {
 protected:
  void SetUp() override {
    if (!g_why_not.empty()) GTEST_SKIP() << g_why_not;
    net_.emplace();
    if (!net_->ok()) GTEST_SKIP() << "cannot make bridges and interfaces with `ip` (package iproute2)";
  }
  void start_reducer(const Words& more = {}) {
    Words args = {"--lanes", "2", "--memory", "64M", "--listen", "0.0.0.0:4000", "--metrics", "off"};
    args.insert(args.end(), more.begin(), more.end());
    reducer_ = std::make_unique<Program>(
        "/usr/bin/nsenter", net_->host(TwoSubnets::kReducer).inside(built("bin/fanin-reducer"), args));
    reducer_->wait_for("ready on");
  }
  // Two ranks whose NCCL would use this NIC, all-reduces of 4 MiB that are checked; rank 0's log.
  std::string job(int nic, const std::string& pool) { return job("==nic" + std::to_string(nic), pool, {}); }
  // nics: NCCL_SOCKET_IFNAME with its first sign.
  std::string job(const std::string& nics, const std::string& pool, const Words& more) {
    std::vector<std::unique_ptr<Program>> ranks;
    for (int r = 0; r < 2; ++r)
      ranks.push_back(std::make_unique<Program>(
          "/usr/bin/nsenter",
          net_->host(r).inside(
              built("bin/fanin-perf"),
              {"--rank", std::to_string(r), "--nranks", "2", "--rendezvous", TwoSubnets::ip(0, 0) + ":4100",
               "-b", std::to_string(kBytes), "-e", std::to_string(kBytes), "-i", "2", "-w", "0", "-v"}),
          [&] {
            Words all = {"FANIN_REDUCERS=" + pool, "NCCL_SOCKET_IFNAME" + nics,
                         "FANIN_CONNECT_TIMEOUT_MS=15000"};
            all.insert(all.end(), more.begin(), more.end());
            return all;
          }()));
    std::string log;
    for (auto& r : ranks) {
      const Program::Outcome o = r->wait(milliseconds(40000));
      EXPECT_EQ(o.exit_code, 0) << o.err;
      if (r == ranks.front()) {
        EXPECT_TRUE(has(o.out, "# wrong elements: 0 OK")) << o.out << o.err;
        log = o.err;
      }
    }
    EXPECT_TRUE(has(log, "uses 1 reducers")) << log;
    return log;
  }
  uint64_t received(int nic) { return net_->received(TwoSubnets::kReducer, nic); }
  static std::string reducer_ip(int nic) { return TwoSubnets::ip(TwoSubnets::kReducer, nic); }

  std::optional<TwoSubnets> net_;
  std::unique_ptr<Program> reducer_;
};

// The pool names one address of the reducer; both NICs find theirs.
TEST_F(Rails, EachNicStaysInItsSubnet) {
  start_reducer();
  for (int nic = 0; nic < 2; ++nic) {
    const uint64_t before[] = {received(0), received(1)};
    const std::string log = job(nic, reducer_ip(0) + ":4000");
    EXPECT_GT(received(nic) - before[nic], 2 * kBytes);
    EXPECT_LT(received(1 - nic) - before[1 - nic], kBytes / 4);
    EXPECT_EQ(has(log, "nic1 reaches " + reducer_ip(0) + ":4000 at " + reducer_ip(1) + ":4000"), nic == 1)
        << log;
  }
}

// The subnet that the pool does not name is cut: found out after the question, and the other one is used.
TEST_F(Rails, ACutSubnetThatTheReducerTellsOf) {
  start_reducer();
  ASSERT_TRUE(net_->cut(TwoSubnets::kReducer, 1));
  job(1, reducer_ip(0) + ":4000");
  EXPECT_GT(received(0), 2 * kBytes);
}

// The cut one comes first in the pool.
TEST_F(Rails, ACutSubnetThatThePoolNames) {
  start_reducer();
  char path[] = "/tmp/fanin-hosts-XXXXXX";
  const int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  close(fd);
  std::ofstream(path) << reducer_ip(1) << " the-reducer\n" << reducer_ip(0) << " the-reducer\n";
  const bool bound = use_hosts(path);
  unlink(path);
  if (!bound) GTEST_SKIP() << "cannot replace /etc/hosts";
  job(1, "the-reducer:4000");
  EXPECT_GT(received(1), 2 * kBytes);
  const uint64_t before = received(0);
  ASSERT_TRUE(net_->cut(TwoSubnets::kReducer, 1));
  job(1, "the-reducer:4000");
  EXPECT_GT(received(0) - before, 2 * kBytes);
}

// Two nodes with 100 Gbit/s, a reducer with 100 on each NIC: enough together, too little for nodes that use one of them only.
TEST_F(Rails, APoolIsJudgedByAllNicsThatAreUsed) {
  start_reducer({"--advertise", reducer_ip(0) + "=100G," + reducer_ip(1) + "=100G"});
  const Words told = {"FANIN_WORKER_BW=100G"};
  const std::string pool = reducer_ip(0) + ":4000",
                    small = "the pool is too small: 1 reducer has 100 Gbit/s, 50.0 %";
  EXPECT_FALSE(has(job("=nic", pool, told), "the pool is too small"));
  EXPECT_TRUE(has(job("==nic0", pool, told), small));
  EXPECT_TRUE(has(job("==nic1", pool, told), small));
}

// What --advertise says counts: here that there is nothing to tell.
TEST_F(Rails, AReducerThatTellsNothingIsUsedWhereItWasFound) {
  start_reducer({"--advertise", "none"});
  job(1, reducer_ip(0) + ":4000");
  EXPECT_GT(received(0), 2 * kBytes);
}

}  // namespace
}  // namespace fanin::test
