// Threads run where they are told: a reducer's lanes, a worker's I/O threads; and what cannot be is no failure.
#include "transport/affinity.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <fstream>
#include <functional>
#include <mutex>

#include "plugin/collnet/io_thread.h"
#include "reducer/block_arena.h"
#include "reducer/reducer.h"

namespace fanin {
namespace {

// "Cpus_allowed_list" of this process's thread of that name; "" when there is none.
std::string cpus_of_thread(const std::string& name) {
  std::string found;
  DIR* tasks = opendir("/proc/self/task");
  while (const dirent* e = readdir(tasks)) {
    const std::string task = std::string("/proc/self/task/") + e->d_name;
    std::string comm, line;
    std::ifstream(task + "/comm") >> comm;
    if (comm != name) continue;
    std::ifstream status(task + "/status");
    while (std::getline(status, line))
      if (line.starts_with("Cpus_allowed_list:")) found = line.substr(line.find_first_not_of(" \t", 18));
  }
  closedir(tasks);
  return found;
}

bool becomes(const std::function<bool()>& true_then) {
  const Deadline end = Deadline::after(std::chrono::seconds(10));
  while (!true_then() && !end.passed()) sched_yield();
  return true_then();
}

ReducerConfig config() {
  ReducerConfig c;
  c.listen = tcp::Address::loopback(0);
  c.memory = 64 << 20;
  return c;
}

TEST(Affinity, ALaneRunsOnItsCpus) {
  const unsigned cpu = affinity_of_this_thread().back();
  ReducerConfig c = config();
  c.places = {{{cpu}, 0}};
  auto reducer = Reducer::start(c);
  ASSERT_TRUE(reducer);
  EXPECT_TRUE(becomes([&] { return cpus_of_thread("fanin-lane0") == std::to_string(cpu); }));
}

TEST(Affinity, ALaneThatCannotBePinnedSaysSoAndRuns) {
  ReducerConfig c = config();
  c.places = {{{16000}, -1}};
  std::mutex mutex;
  std::string log;
  c.log = [&](std::string_view line) {
    std::lock_guard lock(mutex);
    log += std::string(line) + "\n";
  };
  auto reducer = Reducer::start(c);
  ASSERT_TRUE(reducer);
  EXPECT_TRUE(becomes([&] {
    std::lock_guard lock(mutex);
    return log.find("warning: lane 0 is not pinned: sched_setaffinity") != std::string::npos;
  })) << log;
}

class NoSession final : public plugin::collnet::IoOwner {
 public:
  void slice_done(plugin::collnet::Request*, plugin::collnet::Lane*) override {}
  void fail(Error, wire::AbortCode) override {}
  const plugin::collnet::Failure& failure() const override { return failure_; }
  size_t lane_count() const override { return 0; }
  void waiting(const plugin::collnet::Lane&, std::chrono::steady_clock::duration) override {}
  void went_on(std::chrono::steady_clock::duration) override {}
  void io_ended() override {}

 private:
  plugin::collnet::Failure failure_;
};

TEST(Affinity, AnIoThreadRunsOnItsCpus) {
  const unsigned cpu = affinity_of_this_thread().back();
  NoSession owner;
  plugin::collnet::IoTuning tuning;
  tuning.cpus = {cpu};
  auto io = plugin::collnet::IoThread::make(owner, {}, tuning);
  ASSERT_TRUE(io);
  ASSERT_TRUE((*io)->start(7));
  EXPECT_TRUE(becomes([&] { return cpus_of_thread("fanin-io-7") == std::to_string(cpu); }));
}

TEST(Affinity, MemoryOfANodeIsUsable) {
  auto arena = reducer::BlockArena::make(4, 64 << 10);
  ASSERT_TRUE(arena);
  arena->prefer_node(0);
  arena->prefer_node(1000);  // there is none: still memory
  std::byte* block = arena->take();
  memset(block, 7, 64 << 10);
  EXPECT_EQ(block[100], std::byte{7});
  EXPECT_FALSE(prefer_node(block, 4096, -1));
  EXPECT_FALSE(prefer_node(block, 4096, 5000));
}

}  // namespace
}  // namespace fanin
