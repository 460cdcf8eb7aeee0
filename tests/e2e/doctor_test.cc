// fanin-doctor as a program: set-ups that work, and broken ones, each of which it must name. NCCL is a stand-in that only
// tells a release (mk/tests-doctor.mk); plugin and reducers are the real ones.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "fanin/wire.h"
#include "tests/support/process.h"
#include "tests/support/program.h"
#include "tests/support/reducer_fixture.h"
#include "transport/tcp/socket.h"

namespace fanin {
namespace {

using test::built;
using test::has;
using test::Program;
using test::ReducerProcess;
using Strings = std::vector<std::string>;

std::string nccl(const std::string& release) { return built("tests/doctor/" + release + "/libnccl.so.2"); }
const std::string kPlugins = built("tests/doctor/net"), kEnvPlugins = built("tests/doctor/env");

class Doctor : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/fanin-doctor-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }

  // A job that is set up well, with what the test changes about it: "NAME=value", "NAME=" takes one away.
  Program::Outcome run(const Strings& changes = {}, Strings args = {},
                       const std::string& release = "2.28.9") {
    std::map<std::string, std::string> job = {
        {"NCCL_NET_PLUGIN", "fanin"},  {"NCCL_COLLNET_ENABLE", "1"},
        {"NCCL_SOCKET_IFNAME", "lo"},  {"NCCL_CONF_FILE", "/dev/null"},
        {"LD_LIBRARY_PATH", kPlugins}, {"FANIN_REDUCERS", reducer_.address()}};
    for (const std::string& c : changes) job[c.substr(0, c.find('='))] = c.substr(c.find('=') + 1);
    Strings environment;
    for (const auto& [name, value] : job)
      if (!value.empty()) environment.push_back(name + "=" + value);
    args.insert(args.begin(), {"--nccl", release.empty() ? "/nowhere/libnccl.so.2" : nccl(release),
                               "--timeout-ms", "2000"});
    return Program(built("bin/fanin-doctor"), args, environment).wait(std::chrono::seconds(20));
  }
  // The broken set-up is named in a FAIL line that has `cause`, and the exit code says so.
  static void expect_fail(const Program::Outcome& got, const std::string& cause) {
    expect(got, "FAIL ", cause, 1);
  }
  static void expect_warn(const Program::Outcome& got, const std::string& cause) {
    expect(got, "WARN ", cause, 0);
  }
  static void expect(const Program::Outcome& got, const std::string& level, const std::string& cause,
                     int code) {
    bool named = false;
    size_t from = 0;
    for (size_t end; (end = got.out.find('\n', from)) != std::string::npos; from = end + 1) {
      const std::string line = got.out.substr(from, end - from);
      named = named || (line.starts_with(level) && has(line, cause));
    }
    EXPECT_TRUE(named) << level << cause << "\n" << got.out << got.err;
    EXPECT_EQ(got.exit_code, code) << got.out << got.err;
  }

  ReducerProcess reducer_;
  std::string folder_;
};

TEST_F(Doctor, AGoodSetUp) {
  Program::Outcome got = run();
  EXPECT_EQ(got.exit_code, 0) << got.out << got.err;
  EXPECT_FALSE(has(got.out, "FAIL")) << got.out;
  EXPECT_TRUE(has(got.out, "release 2.28.9")) << got.out;
  EXPECT_TRUE(has(got.out, "libnccl-net-fanin.so, tables of version 11")) << got.out;
  EXPECT_TRUE(has(got.out, "two ranks on this host sum 32 KiB in")) << got.out;
  EXPECT_TRUE(has(got.out, "The reducers would be used.")) << got.out;
}

TEST_F(Doctor, UpTo226ThePluginTurnsCollNetOn) {
  Program::Outcome got = run({"NCCL_COLLNET_ENABLE="}, {}, "2.21.5");
  EXPECT_EQ(got.exit_code, 0) << got.out;
  EXPECT_TRUE(has(got.out, "tables of version 8")) << got.out;
  expect_fail(run({"NCCL_COLLNET_ENABLE=", "FANIN_COLLNET=0"}, {}, "2.21.5"), "NCCL_COLLNET_ENABLE: not set");
}

TEST_F(Doctor, WithTheEnvironmentPluginNothingIsSet) {
  Program::Outcome got =
      run({"NCCL_COLLNET_ENABLE=", "NCCL_NET_PLUGIN=", "LD_LIBRARY_PATH=" + kEnvPlugins + ":" + kPlugins});
  EXPECT_EQ(got.exit_code, 0) << got.out;
  EXPECT_TRUE(has(got.out, "from fanin's environment plugin")) << got.out;
}

TEST_F(Doctor, WhatTheEnvironmentPluginDoesNotAnswer) {
  const Strings job = {
      "NCCL_COLLNET_ENABLE=", "NCCL_NET_PLUGIN=", "LD_LIBRARY_PATH=" + kEnvPlugins + ":" + kPlugins};
  const auto with = [&](const std::string& change) {
    Strings changed = job;
    changed.push_back(change);
    return run(changed);
  };
  expect_fail(with("FANIN_COLLNET=off"), "NCCL_COLLNET_ENABLE: not set");
  // Set to nothing is set: in a file, as run() takes such away from the environment.
  expect_fail(with("NCCL_CONF_FILE=" + file("a.conf", "NCCL_COLLNET_ENABLE=\n")), "ENABLE: set to nothing");
  expect_fail(with("NCCL_CONF_FILE=" + file("b.conf", "NCCL_NET_PLUGIN=\n")),
              "NCCL_NET_PLUGIN is set to nothing");
}

TEST_F(Doctor, ThePluginOfAnEnvironmentPluginNeedNotBeOnTheLibraryPath) {
  std::filesystem::create_directory(folder_ + "/env");
  std::filesystem::copy_file(kEnvPlugins + "/libnccl-env.so", folder_ + "/env/libnccl-env.so");
  std::filesystem::copy_file(kPlugins + "/libnccl-net-fanin.so", folder_ + "/libnccl-net-fanin.so");
  const Program::Outcome got =
      run({"NCCL_COLLNET_ENABLE=", "NCCL_NET_PLUGIN=", "LD_LIBRARY_PATH=" + folder_ + "/env"});
  EXPECT_EQ(got.exit_code, 0) << got.out;
}

TEST_F(Doctor, UpTo226AnEmptyVariableStaysEmpty) {
  const std::string conf = file("nccl.conf", "NCCL_COLLNET_ENABLE=\n");
  expect_fail(run({"NCCL_COLLNET_ENABLE=", "NCCL_CONF_FILE=" + conf}, {}, "2.21.5"),
              "ENABLE: set to nothing");
}

TEST_F(Doctor, AFindingIsOneLine) {
  const Program::Outcome got = run({"NCCL_NET_PLUGIN=x\nOK   nic: fine\x1b[2J"});
  expect_fail(got, "NCCL_NET_PLUGIN=x?OK   nic: fine?[2J (the environment)");
  EXPECT_FALSE(has(got.out, "\nOK   nic: fine")) << got.out;
}

TEST_F(Doctor, AConfigurationFileThatWouldBeWaitedFor) {
  const std::string pipe = folder_ + "/nccl.conf";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  expect_fail(run({"NCCL_CONF_FILE=" + pipe}), "it is a pipe or a device, not a file");
}

TEST_F(Doctor, APythonThatHangsIsNotWaitedFor) {
  file("python3", "#!/bin/sh\nexec sleep 60\n");
  std::filesystem::permissions(folder_ + "/python3", std::filesystem::perms::owner_all);
  Program doctor("/usr/bin/env",
                 {"PATH=" + folder_ + ":/usr/bin:/bin", built("bin/fanin-doctor"), "--timeout-ms", "2000"},
                 {"NCCL_CONF_FILE=/dev/null", "NCCL_SOCKET_IFNAME=lo", "NCCL_NET_PLUGIN=fanin",
                  "NCCL_COLLNET_ENABLE=1", "FANIN_REDUCERS=" + reducer_.address(),
                  "LD_LIBRARY_PATH=" + built("tests/doctor/2.28.9") + ":" + kPlugins});
  const Program::Outcome got = doctor.wait(std::chrono::seconds(30));
  expect_warn(got, "python3 does not say within 5 s");
  EXPECT_TRUE(has(got.out, "release 2.28.9")) << got.out;
}

TEST_F(Doctor, JsonHasTheSame) {
  Program::Outcome got = run({"NCCL_ALGO=Ring"}, {"--json"});
  EXPECT_EQ(got.exit_code, 1);
  auto json = nlohmann::json::parse(got.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << got.out;
  EXPECT_EQ(json["usable"], false);
  bool found = false;
  for (auto& f : json["findings"]) found = found || (f["level"] == "FAIL" && f["topic"] == "NCCL_ALGO");
  EXPECT_TRUE(found) << got.out;
}

TEST_F(Doctor, NoNccl) { expect_fail(run({}, {}, ""), "no NCCL can be loaded: /nowhere/libnccl.so.2"); }
TEST_F(Doctor, AnNcclThatIsTooOld) { expect_fail(run({}, {}, "2.12.12"), "release 2.12.12"); }
TEST_F(Doctor, NoNetPluginAsked) { expect_fail(run({"NCCL_NET_PLUGIN="}), "NCCL_NET_PLUGIN is not set"); }
TEST_F(Doctor, ReleasesThatTakeNoPath) {
  const std::string path = "NCCL_NET_PLUGIN=" + kPlugins + "/libnccl-net-fanin.so";
  EXPECT_EQ(run({path}).exit_code, 0);
  const Program::Outcome got = run({path}, {}, "2.27.3");
  expect_fail(got, "not found on the library path: libnccl-net-");
  EXPECT_TRUE(has(got.out, "NCCL 2.27.3 takes no path: set NCCL_NET_PLUGIN=fanin")) << got.out;
  for (const std::string name : {"fanin", "libnccl-net-fanin.so"})
    EXPECT_EQ(run({"NCCL_NET_PLUGIN=" + name}, {}, "2.27.3").exit_code, 0);
  expect_warn(run({"NCCL_TUNER_PLUGIN=" + built("tests/doctor/other.so")}, {}, "2.27.3"), "names no library");
}
TEST_F(Doctor, PluginsOff) { expect_fail(run({"NCCL_NET_PLUGIN=none"}), "turns plugins off"); }
TEST_F(Doctor, ThePluginIsNotOnTheLibraryPath) {
  expect_fail(run({"LD_LIBRARY_PATH=/usr/lib"}),
              "not found on the library path: fanin, libnccl-net-fanin.so");
}
TEST_F(Doctor, ThePluginsFileIsBroken) {
  file("libnccl-net-fanin.so", "not a library\n");
  expect_fail(run({"LD_LIBRARY_PATH=" + folder_}), "the file is there and cannot be loaded");
}
TEST_F(Doctor, ThePluginLacksALibrary) {
  expect_fail(run({"LD_LIBRARY_PATH=" + built("tests/doctor/lacking")}), "libfanin-missing.so");
}
TEST_F(Doctor, AnotherPlugin) {
  expect_fail(run({"NCCL_NET_PLUGIN=" + built("tests/doctor/other.so")}), "is the network 'other'");
}
TEST_F(Doctor, CollNetOffInTheEnvironment) {
  expect_fail(run({"NCCL_COLLNET_ENABLE=0"}), "NCCL_COLLNET_ENABLE: '0', from the environment");
}
TEST_F(Doctor, CollNetOffInAFile) {
  const std::string conf = file("nccl.conf", "# of the site\nNCCL_COLLNET_ENABLE=0\n");
  expect_fail(run({"NCCL_COLLNET_ENABLE=", "NCCL_CONF_FILE=" + conf}), "'0', from " + conf);
}
TEST_F(Doctor, CollNetNotSet) { expect_fail(run({"NCCL_COLLNET_ENABLE="}), "NCCL_COLLNET_ENABLE: not set"); }
TEST_F(Doctor, AFileMayNameThePool) {
  const std::string conf = file("nccl.conf", "FANIN_REDUCERS=" + reducer_.address() + "\n");
  EXPECT_EQ(run({"FANIN_REDUCERS=", "NCCL_CONF_FILE=" + conf}).exit_code, 0);
}
TEST_F(Doctor, AlgorithmsThatForbidCollNet) {
  expect_fail(run({"NCCL_ALGO=Ring,Tree"}), "forbids CollNet");
  expect_fail(run({"NCCL_ALGO=^CollNetDirect,CollNetChain"}), "forbids CollNet");
  expect_fail(run({"NCCL_ALGO=broadcast:ring;allreduce:tree"}), "forbids CollNet");
  EXPECT_EQ(run({"NCCL_ALGO=broadcast:ring"}).exit_code, 0);
  expect_warn(run({"NCCL_ALGO=CollNetDirect"}), "forces an algorithm");
}
TEST_F(Doctor, AProtocolThatForbidsCollNet) { expect_fail(run({"NCCL_PROTO=LL128"}), "forbids Simple"); }
TEST_F(Doctor, AnotherNetwork) { expect_fail(run({"NCCL_NET=Socket"}), "asks for another network"); }
TEST_F(Doctor, AnotherTuner) {
  expect_warn(run({"NCCL_TUNER_PLUGIN=" + built("tests/doctor/other.so")}), "fanin's tuner does not decide");
  expect_warn(run({"NCCL_TUNER_PLUGIN=none"}), "fanin's tuner does not decide");
  expect_warn(run({"NCCL_TUNER_PLUGIN=static_plugin"}), "fanin's tuner does not decide");
  expect_warn(run({"NCCL_TUNER_PLUGIN=ofi"}), "names no library");
}
TEST_F(Doctor, RulesOfTheTuner) {
  expect_warn(run({"FANIN_TUNER_FILE=" + folder_ + "/none"}), "none': No such file");
  const std::string rules = file("rules.csv", "allreduce,0,1024,tree,ll,-1,-1,-1\nallreduce,bogus\n");
  expect_warn(run({"FANIN_TUNER_FILE=" + rules}), "line 2: 2 fields");
  std::string prose;
  for (int i = 0; i < 1000; ++i) prose += "some other file\n";
  expect_warn(run({"FANIN_TUNER_FILE=" + file("prose.txt", prose)}), "992 more lines are no rules");
  EXPECT_TRUE(has(run({"FANIN_TUNER_FILE=" + file("good.csv", "allreduce,0,9,ring,ll,-1,-1,-1\n")}).out,
                  "OK   FANIN_TUNER_FILE: 1 rules of"));
  EXPECT_FALSE(has(run({"FANIN_TUNER_FILE=" + rules, "FANIN_TUNER=0"}).out, "FANIN_TUNER_FILE"));
}
TEST_F(Doctor, TwoNodes) {
  expect_fail(run({"SLURM_JOB_NUM_NODES=2"}), "tuner: between 2 nodes a ring is as fast");
  EXPECT_EQ(run({"SLURM_JOB_NUM_NODES=3"}).exit_code, 0);
  EXPECT_EQ(run({"SLURM_JOB_NUM_NODES=2", "FANIN_TUNER=0"}).exit_code, 0);
  EXPECT_EQ(run({"SLURM_JOB_NUM_NODES=2", "FANIN_TUNER=off"}).exit_code, 0);
}
TEST_F(Doctor, TooFewNodes) {
  expect_fail(run({"NCCL_COLLNET_NODE_THRESHOLD=8", "SLURM_JOB_NUM_NODES=4"}), "the job has 4 nodes");
}
TEST_F(Doctor, AVariableNobodyExpanded) {
  expect_warn(run({"LD_LIBRARY_PATH=" + kPlugins + ":$LD_LIBRARY_PATH"}), "'$' that nothing has expanded");
}
TEST_F(Doctor, AMisspeltOption) { expect_warn(run({"FANIN_WINDOWS=1M"}), "did you mean FANIN_WINDOW?"); }
TEST_F(Doctor, NoPool) { expect_fail(run({"FANIN_REDUCERS="}), "no reducers"); }
TEST_F(Doctor, AMalformedPool) { expect_fail(run({"FANIN_REDUCERS=reducer-0:port"}), "reducer-0:port"); }
TEST_F(Doctor, NobodyListens) {
  const std::string address = reducer_.address();
  reducer_.signal(SIGTERM);
  ASSERT_TRUE(reducer_.wait(std::chrono::seconds(5)));
  expect_fail(run({"FANIN_REDUCERS=" + address}), "cannot be reached: " + address + ": Connection refused");
}
TEST_F(Doctor, OneOfThePoolIsMissing) {
  ReducerProcess other;
  const std::string address = other.address();
  other.signal(SIGTERM);
  ASSERT_TRUE(other.wait(std::chrono::seconds(5)));
  Program::Outcome got = run({"FANIN_REDUCERS=" + reducer_.address() + "," + address});
  expect_warn(got, "reducer " + address + ": cannot be reached");
  EXPECT_TRUE(has(got.out, "use 1 of 2")) << got.out;
}
TEST_F(Doctor, TheReducerWantsASecret) {
  ReducerProcess guarded(2, {"--secret-file", file("secret", "0123456789abcdef0123456789abcdef\n")});
  expect_fail(run({"FANIN_REDUCERS=" + guarded.address()}), "secret");
  expect_fail(run({"FANIN_REDUCERS=" + guarded.address(), "FANIN_SECRET=fedcba9876543210fedcba9876543210"}),
              "secret");
  // Said once of each reducer, without what is only true of the trial's two ranks.
  ReducerProcess other(2, {"--secret-file", folder_ + "/secret"});
  Program::Outcome both = run({"FANIN_REDUCERS=" + guarded.address() + "," + other.address()});
  expect_fail(both, "none of its 2 reducers can be used");
  expect(both, "WARN ", "reducer " + other.address() + ": does not take this job: " + other.address(), 1);
  EXPECT_FALSE(has(both.out, "all 2 ranks")) << both.out;
}
TEST_F(Doctor, ASecretFileThatIsNotThere) {
  expect_fail(run({"FANIN_SECRET_FILE=" + folder_ + "/none"}), "secret: ");
}

// A server that answers the first bytes of everyone with its own.
class Fake {
 public:
  explicit Fake(std::string answer) : answer_(std::move(answer)) {
    listener_ = std::move(*tcp::listen_on(tcp::Address::loopback(0)));
    address_ = tcp::local_address(listener_.get())->text();
    thread_ = std::thread([this] { serve(); });
  }
  ~Fake() {
    shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  const std::string& address() const { return address_; }

 private:
  void serve() {
    const int flags = fcntl(listener_.get(), F_GETFL);
    fcntl(listener_.get(), F_SETFL, flags & ~O_NONBLOCK);
    for (;;) {
      Fd peer(::accept(listener_.get(), nullptr, nullptr));
      if (!peer) return;
      char buf[256];
      if (recv(peer.get(), buf, sizeof buf, 0) <= 0) continue;
      (void)!send(peer.get(), answer_.data(), answer_.size(), MSG_NOSIGNAL);
      shutdown(peer.get(), SHUT_WR);
      while (recv(peer.get(), buf, sizeof buf, 0) > 0) {
      }
    }
  }
  std::string answer_, address_;
  Fd listener_;
  std::thread thread_;
};

TEST_F(Doctor, SomethingElseListens) {
  Fake web("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" +
           std::string(200, ' '));
  expect_fail(run({"FANIN_REDUCERS=" + web.address()}), "is not a fanin-reducer");
}

TEST_F(Doctor, APoolThatHangsIsNotTriedToItsEnd) {
  std::vector<Fd> listeners;
  std::string pool;
  while (listeners.size() < 64) {
    listeners.push_back(std::move(*tcp::listen_on(tcp::Address::loopback(0))));
    pool += (pool.empty() ? "" : ",") + tcp::local_address(listeners.back().get())->text();
  }
  Program doctor(built("bin/fanin-doctor"), {"--nccl", nccl("2.28.9"), "--timeout-ms", "100"},
                 {"NCCL_CONF_FILE=/dev/null", "NCCL_SOCKET_IFNAME=lo", "NCCL_NET_PLUGIN=fanin",
                  "NCCL_COLLNET_ENABLE=1", "FANIN_REDUCERS=" + pool, "LD_LIBRARY_PATH=" + kPlugins});
  const Program::Outcome got = doctor.wait(std::chrono::seconds(30));
  expect_fail(got, "pool: two ranks on this host cannot use it");
  EXPECT_TRUE(has(got.out, "not tried: those before took 2000 ms")) << got.out;
}

TEST_F(Doctor, AReducerOfAnotherProtocol) {
  wire::Welcome welcome{};
  welcome.preamble = {wire::kMagic, wire::kVersion + 1, sizeof welcome};
  welcome.refusal = wire::Refusal::kVersion;
  Fake newer(std::string(reinterpret_cast<const char*>(&welcome), sizeof welcome));
  expect_fail(run({"FANIN_REDUCERS=" + newer.address()}), "protocol");
}

TEST_F(Doctor, APoolThatIsTooSmall) {
  const std::string told = "FANIN_WORKER_BW=10G";
  const Program::Outcome small = run({told}, {"--workers", "8", "--reducer-bw", "10G"});
  expect_fail(small,
              "the pool is too small: 1 reducer has 10 Gbit/s, 12.5 % of what 8 nodes with 10 Gbit/s each "
              "(FANIN_WORKER_BW) have; below 57.1 % a ring is faster");
  EXPECT_TRUE(has(small.out,
                  "5 such reducers beat the ring, 8 have the nodes' bandwidth (fanin-topo plan --workers 8 "
                  "--worker-bw 10G --reducer-bw 10G --reducers 1)"))
      << small.out;
  expect_warn(run({told}, {"--workers", "8", "--reducer-bw", "60G"}), "1 reducer has 60 Gbit/s, 75.0 % of");
  EXPECT_TRUE(has(run({}, {"--workers", "8", "--reducer-bw", "10G"}).out,
                  "not judged: the kernel does not know the speed"));
  EXPECT_EQ(run({}, {"--workers", "8", "--reducer-bw", "ten"}).exit_code, 2);
}

TEST_F(Doctor, APoolWhoseOtherHalfIsDownIsTooSmall) {
  const Fd bound = std::move(*tcp::listen_on(tcp::Address::loopback(0)));
  const std::string silent = tcp::local_address(bound.get())->text();
  const Program::Outcome got =
      run({"FANIN_WORKER_BW=10G", "FANIN_REDUCERS=" + reducer_.address() + "," + silent},
          {"--workers", "8", "--reducer-bw", "40G"});
  expect_fail(got, "the pool is too small: 1 reducer has 40 Gbit/s, 50.0 % of");
  EXPECT_TRUE(has(got.out, "use 1 of 2")) << got.out;
}
TEST_F(Doctor, TooFewDescriptors) {
  Program limited("/bin/sh",
                  {"-c", "ulimit -n 100; exec " + built("bin/fanin-doctor") + " --nccl " + nccl("2.28.9")},
                  {"FANIN_REDUCERS=" + reducer_.address(), "NCCL_SOCKET_IFNAME=lo"});
  Program::Outcome got = limited.wait(std::chrono::seconds(20));
  EXPECT_TRUE(has(got.out, "WARN descriptors: ulimit -n is 100")) << got.out;
}

}  // namespace
}  // namespace fanin
