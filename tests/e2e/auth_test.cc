// Secrets from end to end: the real reducer, fanin-perf and ranks with the built plugin.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "perf/common/plugin_log.h"
#include "tests/support/collnet_rank.h"
#include "tests/support/process.h"

namespace fanin::test {
namespace {

const std::string kA = "e2e-secret-of-job-a-0123456789", kB = "e2e-secret-of-job-b-0123456789";

class Auth : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/fanin-auth-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    for (const std::string& f : files_) unlink(f.c_str());
    rmdir(folder_.c_str());
  }
  // Written beside and renamed, as Kubernetes does.
  std::string file(const std::string& name, const std::string& text, mode_t mode = 0600) {
    const std::string path = folder_ + "/" + name, draft = path + ".new";
    std::ofstream(draft) << text;
    chmod(draft.c_str(), mode);
    rename(draft.c_str(), path.c_str());
    files_.push_back(path);
    return path;
  }
  // Two ranks, each with its own environment, and the WARN of the fallback of each, or "" where reducers were used.
  static std::vector<std::string> try_ranks(const RankProcesses::Env& env0, const RankProcesses::Env& env1) {
    RankProcesses ranks(2, {{"FANIN_CONNECT_TIMEOUT_MS", "4000"}}, [&](Rank& rank) -> std::string {
      for (auto& [name, value] : rank.rank() == 0 ? env0 : env1) setenv(name.c_str(), value.c_str(), 1);
      CollnetRank r;
      if (std::string f = r.connect(rank.group(), false); !f.empty()) return f;
      rank.say(r.usable() ? "" : perf::last_plugin_warning());
      std::string f = r.usable() ? r.run({}) : "";
      std::string closing = r.close();
      return f.empty() ? closing : f;
    });
    std::vector<std::string> said;
    for (const Outcome& o : ranks.wait(milliseconds(20000))) {
      EXPECT_EQ(o.failure, "");
      said.push_back(o.lines.empty() ? "nothing" : o.lines.front());
    }
    return said;
  }
  std::string folder_;
  std::vector<std::string> files_;
};

TEST_F(Auth, FaninPerfWithSecrets) {
  ReducerProcess one(2, {"--secret-file", file("pool", "job-a: " + kA + "\njob-b: " + kB + "\n")}),
      two(1, {"--secret-file", file("pool", "job-a: " + kA + "\njob-b: " + kB + "\n")});
  Program p(built("bin/fanin-perf"), {"-n", "3", "-b", "64K", "-e", "1M", "-f", "4", "-i", "2", "-w", "1"},
            {"FANIN_REDUCERS=" + one.address() + "," + two.address(), "FANIN_SECRET_FILE=" + file("a", kA)});
  Program::Outcome o = p.wait(milliseconds(40000));
  EXPECT_EQ(o.exit_code, 0) << o.err;
  EXPECT_NE(o.out.find("# wrong elements: 0 OK"), std::string::npos) << o.out;
  EXPECT_NE(one.said().find("with the secret 'job-a'"), std::string::npos) << one.said();
  for (const std::string& text : {o.out, o.err, one.said(), two.said()}) {
    EXPECT_EQ(text.find(kA), std::string::npos);
    EXPECT_EQ(text.find(kB), std::string::npos);
  }
}

TEST_F(Auth, OneEnvironmentServesBothSides) {
  setenv("FANIN_SECRET", kA.c_str(), 1);
  ReducerProcess reducer(1);
  unsetenv("FANIN_SECRET");
  const RankProcesses::Env right{{"FANIN_REDUCERS", reducer.address()}, {"FANIN_SECRET", kA}};
  EXPECT_EQ(try_ranks(right, right), (std::vector<std::string>{"", ""}));
}

// A rank that lacks the secret, has another job's, or cannot read its file keeps all ranks from the reducers; all say why.
TEST_F(Auth, WhoLacksWhatIsSaidOnEveryRank) {
  ReducerProcess reducer(1, {"--secret-file", file("pool", kA + "\n" + kB + "\n")});
  ReducerProcess open(1);
  const RankProcesses::Env right{{"NCCL_SOCKET_IFNAME", "lo"},
                                 {"FANIN_REDUCERS", reducer.address()},
                                 {"FANIN_SECRET_FILE", file("a", kA)}};
  auto expect = [&](RankProcesses::Env env0, RankProcesses::Env env1, const std::string& says0,
                    const std::string& says1) {
    const std::vector<std::string> said = try_ranks(env0, env1);
    EXPECT_NE(said[0].find(says0), std::string::npos) << said[0];
    EXPECT_NE(said[1].find(says1), std::string::npos) << said[1];
  };
  RankProcesses::Env none = right, other = right, missing = right, both = right, ajar = right;
  other["FANIN_SECRET_FILE"] = file("b", kB);
  none.erase("FANIN_SECRET_FILE");
  missing["FANIN_SECRET_FILE"] = folder_ + "/no-such-file";
  both["FANIN_SECRET"] = kA;
  ajar["FANIN_REDUCERS"] = open.address();
  // Each rank is named with the address it listens on.
  const std::string one = "rank 1 (127.0.0.1)", zero = "rank 0 (127.0.0.1)",
                    lacks = one + " has no secret, " + zero +
                            " has one; set the same FANIN_SECRET_FILE on all ranks",
                    differs = one + " has another secret than " + zero,
                    blind = one + " cannot read the job's secret", ask = "set FANIN_SECRET_FILE in the job",
                    shut = "start the reducer with --secret-file";
  expect(right, none, lacks, lacks);
  expect(right, other, differs, differs);
  expect(none, none, ask, ask);
  expect(right, missing, blind, "cannot read the secrets in " + folder_ + "/no-such-file");
  expect(right, both, blind, "FANIN_SECRET_FILE and FANIN_SECRET are both set");
  expect(ajar, ajar, shut, shut);
  EXPECT_EQ(try_ranks(right, right), (std::vector<std::string>{"", ""}));
}

TEST_F(Auth, TheReducerReadsItsFileAgain) {
  const std::string pool = file("pool", kA + "\n");
  Program reducer(built("bin/fanin-reducer"), {"--listen", "127.0.0.1:0", "--lanes", "1", "--secret-file",
                                               pool, "--port-file", folder_ + "/port"});
  files_.push_back(folder_ + "/port");
  reducer.wait_for("ready on");
  std::string port;
  std::ifstream(folder_ + "/port") >> port;
  RankProcesses::Env b{{"FANIN_REDUCERS", "127.0.0.1:" + port}, {"FANIN_SECRET", kB}};
  EXPECT_NE(try_ranks(b, b)[0], "");
  file("pool", kA + "\n" + kB + "\n");  // noticed by itself
  reducer.wait_for("secrets read again: 2 (new: line 2)");
  EXPECT_EQ(try_ranks(b, b)[0], "");
  file("pool", "short\n");
  reducer.wait_for("the secrets read before stay in use");
  EXPECT_EQ(try_ranks(b, b)[0], "");
  chmod(pool.c_str(), 0604);
  file("pool", kB + "\n", 0604);
  reducer.kill(SIGHUP);
  reducer.wait_for("everyone on this host may read");
  reducer.wait_for("secrets read again: 1 (gone: line 1)");
  reducer.kill(SIGTERM);
  EXPECT_EQ(reducer.wait().exit_code, 0);
}

TEST_F(Auth, AReducerDoesNotStartWithoutTheSecretsItWasTold) {
  auto run = [](const std::vector<std::string>& args, const std::vector<std::string>& env) {
    return Program(built("bin/fanin-reducer"), args, env).wait();
  };
  Program::Outcome o = run({"--listen", "127.0.0.1:0", "--secret-file", folder_ + "/none"}, {});
  EXPECT_EQ(o.exit_code, 2);
  EXPECT_NE(o.err.find("--secret-file: cannot read the secrets in " + folder_ + "/none"), std::string::npos)
      << o.err;
  o = run({"--listen", "127.0.0.1:0", "--secret-file", file("empty", "# none\n")}, {});
  EXPECT_EQ(o.exit_code, 2);
  o = run({"--listen", "127.0.0.1:0"}, {"FANIN_SECRET=short"});
  EXPECT_EQ(o.exit_code, 2);
  EXPECT_EQ(o.err.find("short"), std::string::npos) << o.err;
  o = run({"--print-config"}, {"FANIN_SECRET=" + kA});
  EXPECT_EQ(o.out.find(kA), std::string::npos);
}

}  // namespace
}  // namespace fanin::test
