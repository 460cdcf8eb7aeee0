// How a real job finds its reducers: the programs and the plugin in a network of their own, with a name server, each
// platform's variables as it would set them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "perf/common/plugin_log.h"
#include "tests/support/collnet_rank.h"
#include "tests/support/name_server.h"
#include "tests/support/private_network.h"
#include "tests/support/process.h"
#include "tests/support/program.h"
#include "transport/tcp/socket.h"

namespace fanin::test {
namespace {

using std::chrono::milliseconds;
using Words = std::vector<std::string>;

std::string g_why_not;
class Environment : public testing::Environment {
  void SetUp() override {
    g_why_not = enter_private_network();
    if (g_why_not.empty() && !use_name_server("127.0.0.1")) g_why_not = "cannot replace /etc/resolv.conf";
  }
};
[[maybe_unused]] testing::Environment* const g_environment =
    testing::AddGlobalTestEnvironment(new Environment);

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Vertex AI's variable, for one of its tasks.
std::string cluster_spec(const std::string& type, int index) {
  return R"(CLUSTER_SPEC={"cluster":{"workerpool0":["job-workerpool0-0:2222"],"workerpool1":["job-workerpool1-0:2222"],)"
         R"("workerpool2":["job-workerpool2-0:2222","job-workerpool2-1:2223"]},"environment":"cloud","task":{"type":")" +
         type + R"(","index":)" + std::to_string(index) + R"(,"trial":""}})";
}

class DiscoveryJob : public testing::Test {
 protected:
  void SetUp() override {
    if (!g_why_not.empty()) GTEST_SKIP() << g_why_not;
    names_.emplace(tcp::Address::numeric("127.0.0.1", 53).value());
  }
  NameServer& names() { return *names_; }
  // A reducer with these words, once it says that it is ready.
  Program& reducer(const Words& words, const Words& environment = {}) {
    Words all = {"--lanes", "1", "--memory", "64M", "--metrics", "off"};
    all.insert(all.end(), words.begin(), words.end());
    reducers_.push_back(std::make_unique<Program>(built("bin/fanin-reducer"), all, environment));
    said_ += reducers_.back()->wait_for("ready on");
    return *reducers_.back();
  }
  static std::unique_ptr<Program> job(Words environment, const std::string& timeout_ms = "20000") {
    environment.push_back("FANIN_CONNECT_TIMEOUT_MS=" + timeout_ms);
    return std::make_unique<Program>(built("bin/fanin-perf"),
                                     Words{"-n", "2", "-b", "64K", "-e", "64K", "-i", "2", "-w", "1", "-v"},
                                     environment);
  }
  // The job ends well and used these reducers, as rank 0's line names them.
  static void expect_used(Program& job, const std::string& reducers) {
    const Program::Outcome o = job.wait(milliseconds(30000));
    EXPECT_EQ(o.exit_code, 0) << o.err;
    EXPECT_TRUE(has(o.out, "# wrong elements: 0 OK")) << o.out << o.err;
    EXPECT_TRUE(has(o.err, "uses " + reducers)) << o.err;
  }
  std::optional<NameServer> names_;
  std::vector<std::unique_ptr<Program>> reducers_;
  std::string said_;
};

TEST_F(DiscoveryJob, VertexAi) {
  names().set("job-workerpool2-0", {"127.0.0.2"});
  names().set("job-workerpool2-1", {"127.0.0.3"});
  for (int i = 0; i < 2; ++i) reducer({}, {cluster_spec("workerpool2", i)});
  EXPECT_TRUE(has(said_, "ready on 0.0.0.0:2222") && has(said_, "ready on 0.0.0.0:2223")) << said_;
  expect_used(*job({cluster_spec("workerpool0", 0)}),
              "2 reducers (job-workerpool2-0:2222, job-workerpool2-1:2223) of CLUSTER_SPEC");
}

// A platform starts its pools in any order: a reducer that is not up yet is waited for past the usual patience.
TEST_F(DiscoveryJob, APlatformsReducersMayBeLate) {
  names().set("job-workerpool2-0", {"127.0.0.2"});
  reducer({}, {cluster_spec("workerpool2", 0)});
  auto running = job({cluster_spec("workerpool1", 0)});
  running->wait_for("waiting for 2 reducers, the addresses of 1 are known");
  names().set("job-workerpool2-1", {"127.0.0.3"});
  running->wait_for("waiting for 1 of 2 reducers: job-workerpool2-1:2223 (Connection refused");
  reducer({}, {cluster_spec("workerpool2", 1)});
  expect_used(*running, "2 reducers");
}

TEST_F(DiscoveryJob, TfConfig) {
  names().set("ps-0", {"127.0.0.2"});
  const std::string tf = R"(TF_CONFIG={"cluster":{"worker":["w:2222"],"ps":["ps-0:2222"]},"task":{"type":")";
  reducer({}, {tf + R"(ps","index":0}})"});
  expect_used(*job({tf + R"(worker","index":0}})"}), "1 reducers (ps-0:2222) of TF_CONFIG");
}

TEST_F(DiscoveryJob, AHeadlessServiceIsWaitedFor) {
  for (const char* ip : {"127.0.0.2:4000", "127.0.0.3:4000", "127.0.0.10:4000"}) reducer({"--listen", ip});
  names().set("pool.ns.svc", {});
  auto running = job({"FANIN_REDUCERS=dns:pool.ns.svc:4000", "FANIN_EXPECT_REDUCERS=3"});
  EXPECT_TRUE(names().wait_asked("pool.ns.svc"));
  names().set("pool.ns.svc", {"127.0.0.10"});
  EXPECT_TRUE(names().wait_asked("pool.ns.svc"));
  names().set("pool.ns.svc", {"127.0.0.10", "127.0.0.3", "127.0.0.2"});
  expect_used(*running, "3 reducers (127.0.0.2:4000, 127.0.0.3:4000, 127.0.0.10:4000)");
}

// Both families of a dual-stack service are the same reducers.
TEST_F(DiscoveryJob, ADualStackServiceNamesEachReducerOnce) {
  reducer({"--listen", "[::]:4000"});
  names().set("pool.ns.svc", {"127.0.0.1", "::1"});
  expect_used(*job({"FANIN_REDUCERS=dns:pool.ns.svc:4000"}), "1 reducers (127.0.0.1:4000)");
}

TEST_F(DiscoveryJob, AReducerWhoseNameIsUnknownIsLeftOut) {
  reducer({"--listen", "127.0.0.2:4000"});
  names().set("a", {"127.0.0.2"});
  auto running = job({"FANIN_REDUCERS=a:4000,b:4000"});
  running->wait_for("leaves others out: b:4000: cannot resolve 'b': Name or service not known");
  expect_used(*running, "1 reducers (a:4000)");
}

// One of a reducer's addresses is accepted for, by a load balancer say, and nobody answers behind it.
TEST_F(DiscoveryJob, AnAddressThatAcceptsAndSaysNothingIsPassedBy) {
  const Result<Fd> silent = tcp::listen_on(tcp::Address::numeric("127.0.0.2", 4000).value());
  ASSERT_TRUE(silent) << silent.error().text();
  reducer({"--listen", "127.0.0.3:4000"});
  names().set("two-ways", {"127.0.0.2", "127.0.0.3"});
  expect_used(*job({"FANIN_REDUCERS=two-ways:4000"}), "1 reducers (two-ways:4000)");
}

// Looking all of them up takes longer than the job waits for its reducers: it goes on with those it knows by then.
TEST_F(DiscoveryJob, ASlowNameServerDoesNotKeepAJobFromStarting) {
  reducer({"--listen", "127.0.0.2:4000"});
  names().slow_down(milliseconds(300));
  auto running = job({"FANIN_REDUCERS=127.0.0.2:4000,slow[01-60]:4000"}, "8000");
  running->wait_for(
      "looking up the names in FANIN_REDUCERS took longer than 45 % of FANIN_CONNECT_TIMEOUT_MS (8000 ms)");
  expect_used(*running, "1 reducers (127.0.0.2:4000)");
}

TEST_F(DiscoveryJob, SlurmHeterogeneousJob) {
  names().set("cpu08", {"127.0.0.2"});
  names().set("cpu09", {"127.0.0.3"});
  for (const char* ip : {"127.0.0.2:4000", "127.0.0.3:4000"}) reducer({"--listen", ip});
  expect_used(*job({"FANIN_REDUCERS=slurm:4000", "SLURM_JOB_NODELIST_HET_GROUP_0=gpu[1-2]",
                    "SLURM_JOB_NODELIST_HET_GROUP_1=cpu[08-09]"}),
              "2 reducers (cpu08:4000, cpu09:4000)");
}

TEST_F(DiscoveryJob, MistakesAreOneLine) {
  struct {
    const char* variable;
    const char* says;
  } cases[] = {{"CLUSTER_SPEC={\"cluster\":",
                "FANIN_REDUCERS is not set and CLUSTER_SPEC is not valid JSON: '{\"cluster\":'"},
               {"CLUSTER_SPEC={\"cluster\":{\"workerpool0\":[]}}",
                "FANIN_REDUCERS is not set and CLUSTER_SPEC has no cluster.workerpool2, where reducers are; "
                "it has workerpool0"},
               {"FANIN_REDUCERS=slurm:4000", "SLURM_JOB_NODELIST_HET_GROUP_1 is not set"},
               {"FANIN_REDUCERS=none", "FANIN_REDUCERS is 'none'"},
               {"FANIN_REDUCERS=cpu[3-1]:4000",
                "FANIN_REDUCERS: the host list 'cpu[3-1]' has a range that goes down"}};
  for (auto& c : cases) {
    const Program::Outcome o = job({c.variable})->wait(milliseconds(20000));
    EXPECT_NE(o.exit_code, 0) << c.variable;
    EXPECT_TRUE(has(o.err, c.says)) << o.err;
  }
}

TEST_F(DiscoveryJob, AReducerInTheWrongPlaceSaysSo) {
  Program p(built("bin/fanin-reducer"), {}, {cluster_spec("workerpool1", 0)});
  const Program::Outcome o = p.wait();
  EXPECT_EQ(o.exit_code, 2);
  EXPECT_EQ(o.err,
            "fanin-reducer: CLUSTER_SPEC says that this is task 0 of workerpool1, and reducers are "
            "workerpool2; start "
            "reducers in their own pool, or give --listen HOST:PORT\n");
  reducer({"--listen", "127.0.0.1:0"}, {cluster_spec("workerpool1", 0)});
  reducer({});
  EXPECT_TRUE(has(said_, "ready on 0.0.0.0:4000")) << said_;
}

// Each communicator reads the file anew. Without a name server: its thread and forked ranks that make threads of their own are
// more than ThreadSanitizer takes.
TEST(DiscoveryFile, IsReadAtEachConnect) {
  ReducerProcess first, second;
  const std::string path = testing::TempDir() + "/fanin-discovery-" + std::to_string(getpid());
  std::ofstream(path) << first.address() << "\n";
  const std::string failure =
      run_ranks(2, {{"FANIN_REDUCERS", "file:" + path}}, [&](Rank& rank) -> std::string {
        for (const ReducerProcess* expected : {&first, &second}) {
          CollnetRank r;
          if (std::string f = r.connect(rank.group()); !f.empty()) return f;
          if (!has(perf::last_plugin_line(), "uses 1 reducers (" + expected->address() + ")"))
            return perf::last_plugin_line();
          if (std::string f = r.run({}); !f.empty()) return f;
          if (std::string f = r.close(); !f.empty()) return f;
          if (Status s = rank.group().barrier(); !s) return s.error().text();
          if (rank.rank() == 0) {
            std::ofstream(path + ".new") << second.address() << "\n";
            if (rename((path + ".new").c_str(), path.c_str()) != 0) return "rename";
          }
          if (Status s = rank.group().barrier(); !s) return s.error().text();
        }
        return "";
      });
  unlink(path.c_str());
  EXPECT_EQ(failure, "");
}

}  // namespace
}  // namespace fanin::test
