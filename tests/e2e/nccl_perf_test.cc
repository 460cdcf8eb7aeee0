// fanin-nccl-perf with the real NCCL on the CPU device: over NCCL's own sockets, by hand-made launcher environments, and
// through a reducer that dies. Skipped, with one line, where NCCL or the device is missing.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/held_port.h"
#include "tests/support/program.h"

namespace fanin {
namespace {

using test::Program;
using Args = std::vector<std::string>;

constexpr std::chrono::seconds kLimit{50};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class NcclPerf : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the CPU device is preloaded here, which the sanitizers' runtimes do not allow; "
                    "nccl_test links it";
#endif
    device_ = std::filesystem::absolute(test::built("cpudev/libcpudev.so"));
    program_ = std::filesystem::absolute(test::built("bin/fanin-nccl-perf"));
    if (!std::filesystem::exists(program_) || !std::filesystem::exists(device_))
      GTEST_SKIP() << "no NCCL, CUDA headers or CPU device here; tools/nccl.sh fetches them, then make again";
  }
  // What every run on the CPU device gets.
  Args environment(Args more = {}) const {
    Args e{"LD_PRELOAD=" + device_, "NCCL_SOCKET_IFNAME=lo", "NCCL_LL_BUFFSIZE=65536",
           "NCCL_LL128_BUFFSIZE=65536"};
    e.insert(e.end(), more.begin(), more.end());
    return e;
  }
  Program::Outcome run(const Args& args, const Args& more = {}) {
    return Program(program_, args, environment(more)).wait(kLimit);
  }
  // Rows of the table that have no wrong element, in and out of place.
  static size_t right_rows(const std::string& out) {
    std::istringstream lines(out);
    size_t rows = 0;
    for (std::string line; std::getline(lines, line);) {
      if (line.empty() || line[0] == '#') continue;
      std::istringstream words(line);
      std::vector<std::string> w{std::istream_iterator<std::string>(words), {}};
      rows += w.size() == 13 && w[8] == "0" && w[12] == "0";
    }
    return rows;
  }
  std::string device_, program_;
};

TEST_F(NcclPerf, AllReduceOverNcclsSockets) {
  const std::string json = "/tmp/fanin-nccl-perf-test." + std::to_string(getpid()) + ".json";
  const auto o = run({"--nodes", "2", "--gpus", "1", "-b", "1K", "-e", "256K", "-f", "16", "-n", "2", "-w",
                      "1", "-J", json});
  EXPECT_EQ(o.exit_code, 0) << o.err << o.out;
  EXPECT_EQ(right_rows(o.out), 3u) << o.out;
  EXPECT_TRUE(has(o.out, "# Out of bounds values : 0 OK\n")) << o.out;
  EXPECT_TRUE(has(o.out, "# Avg bus bandwidth    : ")) << o.out;
  std::ostringstream text;
  text << std::ifstream(json).rdbuf();
  std::filesystem::remove(json);
  EXPECT_TRUE(has(text.str(), "\"out_of_bounds\": {\"count\": 0, \"okay\": true}")) << text.str();
  EXPECT_TRUE(has(text.str(), "{\"size\": 262144, \"count\": 65536, \"type\": \"float\", \"redop\": \"sum\""))
      << text.str();
}

TEST_F(NcclPerf, EveryTypeAndOperator) {
  const auto o = run({"--nodes", "2", "--gpus", "1", "-b", "8K", "-e", "8K", "-n", "1", "-w", "0", "-d",
                      "all", "-o", "all"});
  EXPECT_EQ(o.exit_code, 0) << o.err << o.out;
  EXPECT_GE(right_rows(o.out), 50u) << o.out;
}

TEST_F(NcclPerf, ReduceScatterAndAllGatherByProcesses) {
  for (const char* coll : {"reduce_scatter", "all_gather"}) {
    const auto o = run({"--coll", coll, "--nodes", "2", "--gpus", "2", "--processes", "-b", "3K", "-e",
                        "100K", "-f", "32", "-n", "1", "-w", "1", "-d", "half,int8"});
    EXPECT_EQ(o.exit_code, 0) << o.err << o.out;
    EXPECT_EQ(right_rows(o.out), 4u) << o.out;
  }
}

TEST_F(NcclPerf, ProcessesAsTorchrunStartsThem) {
  const test::HeldPort held;  // rank 0 listens on it
  const std::string port = std::to_string(held.address().port());
  auto rank = [&](const std::string& r) {
    return environment({"RANK=" + r, "WORLD_SIZE=2", "LOCAL_RANK=" + r, "MASTER_ADDR=127.0.0.1",
                        "MASTER_PORT=" + port, "NCCL_HOSTID=node" + r});
  };
  const Args args{"-b", "64K", "-e", "64K", "-n", "1", "-w", "1"};
  Program second(program_, args, rank("1")), first(program_, args, rank("0"));
  const auto a = first.wait(kLimit), b = second.wait(kLimit);
  EXPECT_EQ(a.exit_code, 0) << a.err << a.out;
  EXPECT_EQ(b.exit_code, 0) << b.err << b.out;
  EXPECT_EQ(right_rows(a.out), 1u) << a.out;
  EXPECT_EQ(b.out, "");  // rank 0 speaks for all
}

TEST_F(NcclPerf, DeadReducerEndsTheRun) {
  Program reducer(test::built("bin/fanin-reducer"),
                  {"--listen", "127.0.0.1:0", "--lanes", "1", "--memory", "64M"});
  const std::string said = reducer.wait_for(" lanes,");
  const size_t at = said.find("ready on ") + 9;
  const std::string address = said.substr(at, said.find(": ", at) - at);
  Program perf(program_, {"--nodes", "2", "--gpus", "1", "-b", "1M", "-e", "1M", "-n", "100000", "-w", "1"},
               environment({"FANIN_REDUCERS=" + address, "NCCL_NET_PLUGIN=fanin", "NCCL_COLLNET_ENABLE=1",
                            "NCCL_ALGO=CollnetChain", "NCCL_DEBUG=INFO", "NCCL_DEBUG_FILE=/dev/stderr",
                            "LD_LIBRARY_PATH=" + std::filesystem::absolute(test::built("lib")).string()}));
  perf.wait_for("Connected CollNet", kLimit);  // earlier, and it would fall back to a ring
  reducer.kill(SIGKILL);
  const auto o = perf.wait(kLimit);
  EXPECT_EQ(o.exit_code, 3) << o.err << o.out;
  const size_t line = o.err.find("fanin-nccl-perf: rank ");
  ASSERT_NE(line, std::string::npos) << o.err;
  EXPECT_TRUE(has(o.err.substr(line, o.err.find('\n', line) - line), address))
      << "does not name the reducer: " << o.err.substr(line);
}

TEST_F(NcclPerf, KilledRankEndsTheOthers) {
  for (const std::string moment : {"", "Connected all rings"}) {
    Program perf(program_, {"--nodes", "2", "--gpus", "1", "-b", "1M", "-e", "1M", "-n", "100000", "-w", "1"},
                 environment({"NCCL_DEBUG=INFO", "NCCL_DEBUG_FILE=/dev/stderr"}));
    if (!moment.empty()) perf.wait_for(moment, kLimit);
    // Its children are two ranks; either will do.
    const std::string self = std::to_string(perf.pid());
    pid_t first = 0, second = 0;
    while (second == 0 && kill(perf.pid(), 0) == 0)
      std::ifstream("/proc/" + self + "/task/" + self + "/children") >> first >> second;
    ASSERT_GT(second, 0);
    kill(second, SIGKILL);
    const auto o = perf.wait(kLimit);
    EXPECT_EQ(o.exit_code, 3) << o.err << o.out;
    EXPECT_TRUE(has(o.err, "was ended by signal 9")) << o.err;
    if (!moment.empty()) {
      EXPECT_TRUE(has(o.err, "fanin-nccl-perf: process 1 is gone") || has(o.err, "fanin-nccl-perf: rank 0"))
          << o.err;
    }
  }
}

TEST_F(NcclPerf, RunsWithLibrariesThatCannotRegister) {
  // NCCL below 2.19 has no ncclCommRegister; only -R may miss it.
  Program::Outcome got = Program("/usr/bin/readelf", {"--wide", "--dyn-syms", program_}, {}).wait(kLimit);
  ASSERT_EQ(got.exit_code, 0) << got.err;
  std::istringstream lines(got.out);
  for (std::string line; std::getline(lines, line);)
    EXPECT_TRUE(!has(line, " ncclCommRegister") || has(line, " WEAK ")) << line;
}

TEST_F(NcclPerf, UsageErrorsNeedNoDevice) {
  const auto o = run({"--nodes", "2", "-d", "complex"});
  EXPECT_EQ(o.exit_code, 2);
  EXPECT_TRUE(has(o.err, "'complex'")) << o.err;
  const auto p = run({}, {"RANK=0", "WORLD_SIZE=2", "LOCAL_RANK=0"});
  EXPECT_EQ(p.exit_code, 2);
  EXPECT_TRUE(has(p.err, "MASTER_ADDR")) << p.err;
}

}  // namespace
}  // namespace fanin
