// fanin-reducer as a program: options from four sources, one-line errors, exit codes, the port file, draining.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "fanin/options.h"
#include "tests/support/descriptors.h"
#include "tests/support/program.h"
#include "tests/support/question.h"
#include "tests/support/reducer_fixture.h"

namespace fanin {
namespace {

using test::has;
using test::Program;
using test::RawWorker;
using Args = std::vector<std::string>;

const std::string kReducer = test::built("bin/fanin-reducer");

Program::Outcome run(const Args& args, const Args& environment = {}) {
  return Program(kReducer, args, environment).wait();
}

class ReducerCli : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/fanin-cli-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    for (const std::string& f : files_) unlink(f.c_str());
    rmdir(folder_.c_str());
  }
  std::string file(const std::string& name, const std::string& text = "") {
    files_.push_back(folder_ + "/" + name);
    if (!text.empty()) std::ofstream(files_.back()) << text;
    return files_.back();
  }
  static std::string read(const std::string& path) {
    std::stringstream s;
    s << std::ifstream(path).rdbuf();
    return s.str();
  }
  std::string folder_;
  std::vector<std::string> files_;
};

// Children inherit the mask.
TEST_F(ReducerCli, AutoLanesKeepToTheAffinityMask) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  for (const char* affinity : {"on", "off"}) {
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    Program p(kReducer,
              {"--listen", "127.0.0.1:0", "--metrics", "off", "--memory", "16M", "--affinity", affinity});
    ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
    EXPECT_TRUE(has(p.wait_for("lanes, "), ": 1 lanes, ")) << affinity;
  }
}

TEST_F(ReducerCli, HelpVersionAndConfigGoToStdout) {
  Program::Outcome help = run({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* o : {"--config", "--print-config", "--version"}) EXPECT_TRUE(has(help.out, o)) << o;
  Program::Outcome version = run({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_EQ(version.out.rfind("fanin-reducer ", 0), 0u) << version.out;
  Program::Outcome config = run({"--print-config"});
  EXPECT_EQ(config.exit_code, 0);
  for (const OptionSpec& o : kReducerOptions) {
    EXPECT_TRUE(has(help.out, std::string("--") + o.name)) << o.name;
    EXPECT_TRUE(has("\n" + config.out, std::string("\n") + o.name + " = ")) << o.name;
  }
  EXPECT_EQ(help.err + version.err + config.err, "");
}

struct Usage {
  const char* name;
  Args args;
  Args environment;
  std::vector<const char*> says;
};
class ReducerUsage : public testing::TestWithParam<Usage> {};

TEST_P(ReducerUsage, IsOneLineAndCodeTwo) {
  Program::Outcome o = run(GetParam().args, GetParam().environment);
  EXPECT_EQ(o.exit_code, 2);
  EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
  for (const char* part : GetParam().says) EXPECT_TRUE(has(o.err, part)) << o.err;
}

const Usage kUsage[] = {
    {"UnknownOption", {"--lane", "3"}, {}, {"'--lane'", "did you mean --lanes?"}},
    {"UnknownOptionWithValue", {"--memry=3"}, {}, {"did you mean --memory?"}},
    {"StrayWord", {"serve"}, {}, {"'serve'", "--help"}},
    {"NoValue", {"--lanes"}, {}, {"--lanes", "--help"}},
    {"ZeroLanes", {"--lanes", "0"}, {}, {"--lanes", "'0'", "from 1 to 256"}},
    {"TooManyLanes", {"--lanes", "257"}, {}, {"--lanes", "'257'", "from 1 to 256"}},
    {"NoNumber", {"--timeout-ms", "soon"}, {}, {"--timeout-ms", "'soon'"}},
    {"BadSize", {"--memory", "lots"}, {}, {"--memory", "'lots'"}},
    {"ZeroMemory", {"--memory", "0"}, {}, {"--memory", "'0'"}},
    {"TooLittleMemory",
     {"--listen", "127.0.0.1:0", "--lanes", "2", "--memory", "1M"},
     {},
     {"memory is 1048576", "needs at least 1572864", "raise"}},
    {"TooLittleMemoryForASession",
     {"--listen", "127.0.0.1:0", "--lanes", "2", "--memory", "16M", "--max-session-memory", "1M"},
     {},
     {"max-session-memory is 1048576", "needs at least 1572864", "raise max-session-memory"}},
    {"TooLittleMemoryForAJob",
     {"--listen", "127.0.0.1:0", "--lanes", "2", "--memory", "16M", "--max-job-memory", "1M"},
     {},
     {"max-job-memory is 1048576", "needs at least 1572864", "raise max-job-memory"}},
    {"OddBlock", {"--listen", "127.0.0.1:0", "--block", "5000"}, {}, {"block is 5000", "multiple of 64"}},
    {"NoPort", {"--listen", "localhost"}, {}, {"--listen", "'localhost'", "no port"}},
    {"PortOutOfRange", {"--listen", "127.0.0.1:70000"}, {}, {"--listen", "above 65535"}},
    {"BareIpv6", {"--listen", "::1:4000"}, {}, {"--listen", "brackets"}},
    {"NameThatDoesNotResolve",
     {"--listen", "no-such-host.invalid:4000"},
     {},
     {"--listen", "no-such-host.invalid"}},
    {"MissingConfig", {"--config", "/nonexistent/fanin.toml"}, {}, {"--config", "/nonexistent/fanin.toml"}},
    {"BadNetwork", {"--allow", "10.0.0.7/8"}, {}, {"--allow", "'10.0.0.7/8'", "is 10.0.0.0/8 meant?"}},
    {"NoSessions", {"--max-sessions", "0"}, {}, {"--max-sessions", "'0'"}},
    {"NoSecrets", {"--secret-file", "/nonexistent"}, {}, {"--secret-file", "/nonexistent"}},
    {"EmptySecretFile",
     {"--secret-file", ""},
     {},
     {"--secret-file is empty", "no secret would be asked for"}},
    {"EmptySecretFileWithSign", {"--secret-file="}, {}, {"--secret-file is empty"}},
    {"EmptyValueOfANumber", {"--lanes=", "3"}, {}, {"'3'"}},
    {"EmptyAllow", {"--allow", ""}, {}, {"--allow is empty", "everyone would be let in"}},
    {"EmptyAdminSecretFile", {"--admin-secret-file", ""}, {}, {"--admin-secret-file is empty"}},
    {"TwoSecrets", {}, {"FANIN_SECRET=0123456789abcdef", "FANIN_SECRET_FILE=x"}, {"both set"}},
    {"BadVariable", {}, {"FANIN_REDUCER_LANES=many"}, {"FANIN_REDUCER_LANES", "'many'"}},
};
INSTANTIATE_TEST_SUITE_P(All, ReducerUsage, testing::ValuesIn(kUsage),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_F(ReducerCli, BadConfigFilesNameTheLine) {
  Program::Outcome o = run({"--config", file("a.toml", "lane = 3\n")});
  EXPECT_EQ(o.exit_code, 2);
  EXPECT_TRUE(has(o.err, "--config: the file has 'lane', which is no option (did you mean lanes?)")) << o.err;
  o = run({"--config", file("b.toml", "lanes = 0\n")});
  EXPECT_EQ(o.exit_code, 2);
  EXPECT_TRUE(has(o.err, "in the --config file, --lanes: '0'")) << o.err;
  o = run({"--config", file("c.toml", "this is no configuration\n")});
  EXPECT_EQ(o.exit_code, 2);
  EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
  o = run({"--config", file("d.toml", "[reducer]\nlanes = 2\n")});
  EXPECT_EQ(o.exit_code, 2);
  EXPECT_TRUE(has(o.err, "--config: the file has a section 'reducer'; options stand in none")) << o.err;
}

// An empty variable says "none", as --print-config does.
TEST_F(ReducerCli, EmptyVariablesAndLinesAreNoGuards) {
  Program::Outcome o =
      run({"--print-config", "--config", file("e.toml", "secret-file = \"\"\nallow = \"\"\n")},
          {"FANIN_REDUCER_SECRET_FILE=", "FANIN_REDUCER_ALLOW="});
  EXPECT_EQ(o.exit_code, 0) << o.err;
  // ... and swallow no argument that follows.
  for (const char* variable :
       {"FANIN_REDUCER_SECRET_FILE=", "FANIN_REDUCER_ALLOW=", "FANIN_REDUCER_CONFIG="}) {
    o = run({"--print-config", "--lanes", "3"}, {variable});
    EXPECT_EQ(o.exit_code, 0) << variable << o.err;
    EXPECT_TRUE(has(o.out, "lanes = 3\n") && has(o.out, "secret-file = \"\"")) << o.out;
  }
}

TEST_F(ReducerCli, SaysWhomItServes) {
  auto ready = [](const Args& more) {
    Args args = {"--listen", "127.0.0.1:0", "--metrics", "off", "--lanes", "1", "--memory", "16M"};
    args.insert(args.end(), more.begin(), more.end());
    Program p(kReducer, args);
    p.wait_for("ready on");
    p.kill(SIGTERM);
    return p.wait().err;
  };
  const std::string one = file("one", "0123456789abcdef\n"),
                    two = file("two", "a: 0123456789abcdef\nb: 0123456789abcdeg\n");
  std::string said = ready({});
  EXPECT_TRUE(has(said, " kernels, no secret asked for\n")) << said;
  said = ready({"--allow", "127.0.0.0/8,fd00::/8"});
  EXPECT_TRUE(has(said, " kernels, no secret asked for, only for 127.0.0.0/8,fd00::/8\n")) << said;
  said = ready({"--secret-file", one});
  EXPECT_TRUE(has(said, " kernels, secrets of 1 job\n")) << said;
  said = ready({"--secret-file", two, "--allow", "127.0.0.1"});
  EXPECT_TRUE(has(said, " kernels, secrets of 2 jobs, only for 127.0.0.1\n")) << said;
}

TEST_F(ReducerCli, AJobsSecretIsNoAdminSecret) {
  Program::Outcome o = run({"--listen", "127.0.0.1:0", "--metrics", "off", "--lanes", "1", "--memory", "16M",
                            "--secret-file", file("jobs", "a: 0123456789abcdef\nb: 0123456789abcdeg\n"),
                            "--admin-secret-file", file("admin", "0123456789abcdeg\n")});
  EXPECT_EQ(o.exit_code, 2);
  EXPECT_TRUE(has(o.err, "'b'") && has(o.err, "--admin-secret-file") && has(o.err, "could drain")) << o.err;
  EXPECT_FALSE(has(o.err, "0123456789abcdeg")) << o.err;
}

// The value of an option in what --print-config prints.
std::string printed(const Program::Outcome& o, const std::string& option) {
  std::stringstream lines(o.out);
  for (std::string line; std::getline(lines, line);)
    if (line.rfind(option + " = ", 0) == 0) return line.substr(option.size() + 3);
  return "(not printed)";
}

TEST_F(ReducerCli, CommandLineBeatsEnvironmentBeatsFileBeatsDefault) {
  std::string config = file("fanin.toml", "lanes = 7\nmemory = \"9M\"\nblock = \"8K\"\n");
  std::string variable = "FANIN_REDUCER_CONFIG=" + config;
  Program::Outcome o = run({"--print-config"});
  EXPECT_EQ(printed(o, "lanes"), "\"auto\"");
  EXPECT_EQ(printed(o, "timeout-ms"), "600000");
  o = run({"--print-config", "--config", config}, {"FANIN_REDUCER_MEMORY=10M"});
  EXPECT_EQ(printed(o, "lanes"), "7");
  EXPECT_EQ(printed(o, "memory"), "\"10M\"");
  EXPECT_EQ(printed(o, "block"), "\"8K\"");
  o = run({"--print-config", "--lanes", "3"},
          {"FANIN_REDUCER_MEMORY=10M", "FANIN_REDUCER_LANES=5", variable});
  EXPECT_EQ(printed(o, "lanes"), "3");
  EXPECT_EQ(printed(o, "memory"), "\"10M\"");
  EXPECT_EQ(printed(o, "block"), "\"8K\"");
  // The command line's file replaces the variable's.
  o = run({"--print-config", "--config", file("other.ini", "; an INI file\ntimeout-ms=5\n")}, {variable});
  EXPECT_EQ(printed(o, "lanes"), "\"auto\"");
  EXPECT_EQ(printed(o, "timeout-ms"), "5");
}

TEST_F(ReducerCli, PrintedConfigReadsBackTheSame) {
  Program::Outcome first = run({"--print-config", "--lanes", "3", "--port-file", "/x/y z"});
  Program::Outcome second = run({"--print-config", "--config", file("printed.toml", first.out)});
  EXPECT_EQ(second.exit_code, 0) << second.err;
  EXPECT_EQ(first.out, second.out);
}

TEST_F(ReducerCli, LanesAreNotPinnedOnLoopbackNorWhenToldNotTo) {
  auto says = [&](const Args& more) {
    Args args = {"--lanes", "1", "--memory", "16M", "--metrics", "off"};
    args.insert(args.end(), more.begin(), more.end());
    return Program(kReducer, args, {}).wait_for("ready on");
  };
  EXPECT_FALSE(has(says({"--listen", "0.0.0.0:0", "--affinity", "off"}), "pinned"));
  EXPECT_FALSE(has(says({"--listen", "127.0.0.1:0"}), "pinned"));
}

TEST_F(ReducerCli, MisspeltVariableIsAWarningAndOthersAreNot) {
  Program p(kReducer, {"--listen", "127.0.0.1:0", "--lanes", "1", "--memory", "16M"},
            {"FANIN_REDUCER_LANE=3", "FANIN_REDUCER_SERVICE_HOST=10.0.0.1",
             "FANIN_REDUCER_PORT=tcp://10.0.0.1:4000"});
  std::string said = p.wait_for("ready on");
  EXPECT_TRUE(has(said, "FANIN_REDUCER_LANE; did you mean FANIN_REDUCER_LANES?")) << said;
  EXPECT_FALSE(has(said, "SERVICE_HOST")) << said;
  EXPECT_FALSE(has(said, "FANIN_REDUCER_PORT")) << said;
}

TEST_F(ReducerCli, LimitsThatContradictEachOtherAreSaid) {
  auto says = [](const Args& more) {
    Args args = {"--listen", "127.0.0.1:0", "--metrics", "off", "--lanes", "1"};
    args.insert(args.end(), more.begin(), more.end());
    return Program(kReducer, args).wait_for("ready on");
  };
  std::string said = says({"--memory", "16M", "--max-session-memory", "16M", "--max-job-memory", "16M"});
  EXPECT_FALSE(has(said, "warning")) << said;
  said = says({"--memory", "16M", "--max-session-memory", "12M", "--max-job-memory", "8M"});
  EXPECT_TRUE(
      has(said,
          "warning: --max-session-memory 12.0 MiB is more than --max-job-memory 8.0 MiB and limits nothing"))
      << said;
  said = says({"--memory", "16M", "--max-session-memory", "17M", "--max-job-memory", "18M"});
  EXPECT_TRUE(has(said, "--max-session-memory 17.0 MiB is more than --memory 16.0 MiB")) << said;
  EXPECT_TRUE(has(said, "--max-job-memory 18.0 MiB is more than --memory 16.0 MiB")) << said;
  // Taken all the same: pages that nobody writes cost nothing.
  said = says({"--memory", "64T"});
  EXPECT_TRUE(has(said, "warning: --memory 67108864.0 MiB is more than this process may use (")) << said;
}

class ReducerProcess : public ReducerCli {
 protected:
  void start(Args more = {}) {
    port_file_ = file("port");
    Args args = {"--listen", "127.0.0.1:0", "--lanes", "2", "--memory", "64M", "--port-file", port_file_};
    args.insert(args.end(), more.begin(), more.end());
    program_ = std::make_unique<Program>(kReducer, args);
    ready_ = program_->wait_for("kernels, ");
    address_ = tcp::Address::loopback(static_cast<uint16_t>(atoi(read(port_file_).c_str())));
  }
  std::unique_ptr<Program> program_;
  std::string port_file_, ready_;
  tcp::Address address_;
};

TEST_F(ReducerProcess, AnnouncesServesAndSumsUp) {
  start();
  EXPECT_TRUE(has(ready_, "ready on " + address_.text() + ": 2 lanes, 64.0 MiB of memory, ")) << ready_;
  test::run_session(address_, 1, 2, 2, 1 << 20, {{Coll::kAllReduce, 1 << 20}, {Coll::kAllReduce, 4000}});
  program_->kill(SIGTERM);
  Program::Outcome o = program_->wait();
  EXPECT_EQ(o.exit_code, 0);
  EXPECT_TRUE(has(o.err, "1 sessions, 4 slices, 1052576 bytes summed")) << o.err;
  EXPECT_TRUE(has(o.err, "0 aborted, 0 refused, 0 strangers")) << o.err;
}

class ReducerDrains : public ReducerProcess, public testing::WithParamInterface<int> {};

TEST_P(ReducerDrains, UntilTheLastSessionEnds) {
  start();
  RawWorker a(address_), b(address_), c(address_);
  a.join(RawWorker::hello(RawWorker::session(1), 0, 2));
  program_->kill(GetParam());
  program_->wait_for("draining: 1 sessions");
  EXPECT_EQ(c.greet(RawWorker::hello(RawWorker::session(2), 0, 2)).refusal, wire::Refusal::kDraining);
  b.join(RawWorker::hello(RawWorker::session(1), 1, 2));
  for (RawWorker* w : {&a, &b}) {
    float one = 1;
    w->send(RawWorker::all_reduce(0, 4));
    w->send(one);
  }
  for (RawWorker* w : {&a, &b}) {
    auto f = w->next();
    ASSERT_TRUE(f);
    ASSERT_EQ(f->payload.size(), 4u);
    w->send(RawWorker::goodbye());
  }
  EXPECT_EQ(program_->wait().exit_code, 0);
}
// What srun hands on; it kills at a SIGTERM.
INSTANTIATE_TEST_SUITE_P(Signals, ReducerDrains, testing::Values(SIGTERM, SIGUSR1));

TEST_F(ReducerProcess, SecondSignalEndsAtOnceAndTellsWorkers) {
  start();
  RawWorker a(address_);
  a.join(RawWorker::hello(RawWorker::session(1), 0, 2));
  program_->kill(SIGINT);
  program_->wait_for("draining");
  program_->kill(SIGINT);
  Program::Outcome o = program_->wait();
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_TRUE(has(o.err, "ended by a second signal: 1 sessions") && has(o.err, "; 1 aborted, ")) << o.err;
  EXPECT_EQ(a.expect_abort().code(), wire::AbortCode::kShutdown);
}

TEST_F(ReducerProcess, TakenPortIsARuntimeFailure) {
  start();
  Program::Outcome o = run({"--listen", address_.text(), "--lanes", "1", "--memory", "16M"});
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_TRUE(has(o.err, "cannot bind " + address_.text()) && has(o.err, "take another port")) << o.err;
}

TEST_F(ReducerCli, UnwritablePortFile) {
  Program::Outcome o =
      run({"--listen", "127.0.0.1:0", "--lanes", "1", "--memory", "16M", "--port-file", "/nonexistent/p"});
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_TRUE(has(o.err, "--port-file") && has(o.err, "/nonexistent/p")) << o.err;
}

TEST_F(ReducerCli, ListensOnNamesAndIpv6) {
  for (const char* at : {"localhost:0", "[::1]:0"}) {
    Program p(kReducer, {"--listen", at, "--lanes", "1", "--memory", "16M"});
    // The status page's line comes first.
    std::string said = p.wait_for("\n");
    if (has(said, "cannot bind")) continue;  // a host without IPv6
    p.wait_for("ready on");
  }
}

TEST_F(ReducerProcess, SurvivesRunningOutOfFileDescriptors) {
  start();
  // As many connections as the limit lets in, all silent; then a worker. The oldest silent one makes room.
  rlimit64 few{24, 24};
  ASSERT_EQ(prlimit64(program_->pid(), RLIMIT_NOFILE, &few, nullptr), 0);
  std::vector<std::unique_ptr<RawWorker>> silent;
  for (int i = 0; i < 40; ++i) silent.push_back(std::make_unique<RawWorker>(address_));
  test::run_session(address_, 1, 2, 2, 1 << 20, {{Coll::kAllReduce, 100000}});
  program_->kill(SIGTERM);
  EXPECT_EQ(program_->wait().exit_code, 0);
}

// Connections that ask for figures, and were welcomed, hold all the others: ranks get in, and a job's question is answered.
TEST_F(ReducerProcess, QuestionsMakeRoomWhenFileDescriptorsRunOut) {
  start();
  auto first = test::questioner(address_, 1, 2);
  first->send(test::figures_ask());
  const rlim64_t open = test::descriptors(program_->pid()).size();
  rlimit64 few{open + 16, open + 16};
  ASSERT_EQ(prlimit64(program_->pid(), RLIMIT_NOFILE, &few, nullptr), 0);
  const auto stranger = tcp::Address::numeric("127.0.0.2", 0).value();
  std::vector<std::unique_ptr<RawWorker>> flood;
  for (uint8_t i = 0; i < 60; ++i) {
    flood.push_back(std::make_unique<RawWorker>(address_, stranger));
    flood.back()->send(
        RawWorker::hello(RawWorker::session(static_cast<uint8_t>(100 + i)), 0, 4096, wire::kFiguresLane, 0));
    if (i % 2 != 0) flood.back()->send(test::figures_ask());
  }
  auto second = test::questioner(address_, 1, 2);
  second->send(test::figures_ask());
  for (const auto& w : {&first, &second}) {
    const auto answer = test::told((*w)->fd());
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->agreed, 1u);
  }
  test::run_session(address_, 1, 2, 2, 1 << 20, {{Coll::kAllReduce, 100000}});
  program_->kill(SIGTERM);
  EXPECT_EQ(program_->wait().exit_code, 0);
}

TEST_F(ReducerProcess, WaitsForADescriptorWhenSessionsHoldThemAll) {
  start();
  RawWorker a(address_), b(address_);
  a.join(RawWorker::hello(RawWorker::session(1), 0, 1));
  b.join(RawWorker::hello(RawWorker::session(2), 0, 2));
  rlimit64 before{}, none{};
  ASSERT_EQ(prlimit64(program_->pid(), RLIMIT_NOFILE, nullptr, &before), 0);
  none.rlim_max = before.rlim_max;
  ASSERT_EQ(prlimit64(program_->pid(), RLIMIT_NOFILE, &none, nullptr), 0);
  RawWorker c(address_);
  program_->wait_for("cannot accept more connections");
  ASSERT_EQ(prlimit64(program_->pid(), RLIMIT_NOFILE, &before, nullptr), 0);
  c.join(RawWorker::hello(RawWorker::session(2), 1, 2));
}

TEST_F(ReducerProcess, OutOfFileDescriptorsIsSaidToTheWorkersThatCome) {
  start();
  rlimit64 few{24, 24};
  ASSERT_EQ(prlimit64(program_->pid(), RLIMIT_NOFILE, &few, nullptr), 0);
  std::vector<std::unique_ptr<RawWorker>> admitted;
  for (uint8_t i = 0; i < 40; ++i) {
    RawWorker w(address_);
    if (w.greet(RawWorker::hello(RawWorker::session(i), 0, 2, 0, 4096)).refusal != wire::Refusal::kNone) {
      EXPECT_TRUE(has(w.refusal(), "ulimit -n")) << w.refusal();
      continue;
    }
    ASSERT_EQ(admitted.size(), i) << "admitted after a refusal";
    admitted.push_back(std::make_unique<RawWorker>(std::move(w)));
  }
  EXPECT_GT(admitted.size(), 3u);
  EXPECT_LT(admitted.size(), 24u);
  // What leaves makes room.
  admitted.clear();
  EXPECT_TRUE(test::eventually([&] {
    RawWorker w(address_);
    return w.greet(RawWorker::hello(RawWorker::session(99), 0, 2, 0, 4096)).refusal == wire::Refusal::kNone;
  }));
}

TEST_F(ReducerProcess, ANewcomerIsNotDroppedForWantOfAnotherDescriptor) {
  start();
  RawWorker a(address_);  // so that the descriptors the reducer opens on its way exist
  a.join(RawWorker::hello(RawWorker::session(1), 0, 2));
  // Leaves room for exactly one connection: accept() then fails with nobody waiting, and the guest must stay.
  const std::string folder = "/proc/" + std::to_string(program_->pid()) + "/fd/";
  rlim64_t lowest_free = 0;
  struct stat unused;
  while (lstat((folder + std::to_string(lowest_free)).c_str(), &unused) == 0) ++lowest_free;
  rlimit64 one{lowest_free + 1, lowest_free + 1};
  ASSERT_EQ(prlimit64(program_->pid(), RLIMIT_NOFILE, &one, nullptr), 0);
  RawWorker b(address_);
  wire::Hello h = RawWorker::hello(RawWorker::session(1), 1, 2);
  b.send(&h, 8);
  program_->kill(SIGTERM);  // answered by a line: by then the acceptor has long seen the eight bytes
  program_->wait_for("draining");
  b.send(reinterpret_cast<const char*>(&h) + 8, sizeof h - 8);
  wire::Welcome w{};
  EXPECT_EQ(::recv(b.fd(), &w, sizeof w, MSG_WAITALL), static_cast<ssize_t>(sizeof w));
  EXPECT_EQ(w.refusal, wire::Refusal::kNone);
}

// In a network namespace with an address of the internet (of those reserved for documentation).
TEST_F(ReducerCli, WarnsOfAPublicAddressThatNothingGuards) {
  const std::string in_namespace =
      "ip link set lo up && ip addr add 203.0.113.7/32 dev lo && exec \"$0\" \"$@\"";
  auto run_there = [&](Args args) {
    Args all = {"-rn", "sh", "-c", in_namespace};
    all.insert(all.end(), args.begin(), args.end());
    return Program("/usr/bin/unshare", all);
  };
  if (run_there({"true"}).wait().exit_code != 0) GTEST_SKIP() << "no network namespace to be had";
  auto says = [&](const Args& more) {
    Args args = {kReducer, "--lanes", "1"};
    args.insert(args.end(), more.begin(), more.end());
    Program p = run_there(args);
    p.wait_for("ready on");
    p.kill(SIGTERM);
    return p.wait().err;
  };
  const std::string secrets = file("secrets", "0123456789abcdef\n");
  const char *of_reducer = "warning: everyone who reaches 203.0.113.7:4000 may use this reducer",
             *of_status = "warning: everyone who reaches 203.0.113.7:4001 may read",
             *of_any = "everyone who reaches";
  EXPECT_TRUE(has(says({"--listen", "0.0.0.0:4000"}), of_reducer));
  EXPECT_TRUE(has(says({"--listen", "[::]:4000"}), of_reducer));
  EXPECT_TRUE(has(says({"--listen", "203.0.113.7:4000"}), of_reducer));
  EXPECT_FALSE(has(says({"--listen", "127.0.0.1:4000"}), of_any));
  EXPECT_FALSE(has(says({"--listen", "0.0.0.0:4000", "--secret-file", secrets}), of_any));
  EXPECT_FALSE(has(says({"--listen", "0.0.0.0:4000", "--allow", "203.0.113.0/24"}), of_any));

  // The status port is a door of its own, which no secret guards.
  auto with_status = [&](const std::string& at, Args more) {
    more.insert(more.begin(), {"--listen", "127.0.0.1:4000", "--metrics", at});
    return says(more);
  };
  EXPECT_TRUE(has(with_status("0.0.0.0:4001", {}), of_status));
  EXPECT_TRUE(has(with_status("[::]:4001", {}), of_status));
  EXPECT_TRUE(has(with_status("203.0.113.7:4001", {"--secret-file", secrets}), of_status));
  EXPECT_FALSE(has(with_status("127.0.0.1:4001", {}), of_any));
  EXPECT_FALSE(has(with_status("0.0.0.0:4001", {"--allow", "203.0.113.0/24"}), of_any));
  const std::string both = says({"--listen", "0.0.0.0:4000", "--metrics", "0.0.0.0:4001"});
  EXPECT_TRUE(has(both, of_reducer) && has(both, of_status)) << both;
}

}  // namespace
}  // namespace fanin
