// Descriptors and memory run out, at every point where they can: in the worker each limit from too little to enough, in
// the reducer while it runs. The job falls back, fails with an error or works; nothing crashes, hangs or stays lost.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <deque>
#include <fstream>
#include <functional>
#include <string>

#include "perf/common/plugin_log.h"
#include "tests/support/collnet_rank.h"
#include "tests/support/descriptors.h"
#include "tests/support/footprint.h"
#include "tests/support/long_form.h"
#include "tests/support/process.h"
#include "tests/support/raw_worker.h"

namespace fanin::test {
namespace {

size_t mapped_bytes(pid_t pid) {
  std::ifstream in("/proc/" + (pid ? std::to_string(pid) : std::string("self")) + "/statm");
  size_t pages = 0;
  in >> pages;
  return pages * static_cast<size_t>(getpagesize());
}

// Soft limit only, so that it can be lifted again.
void set_limit(pid_t pid, int resource, rlim_t value) {
  rlimit now{};
  prlimit(pid, static_cast<__rlimit_resource>(resource), nullptr, &now);
  now.rlim_cur = std::min(value, now.rlim_max);
  prlimit(pid, static_cast<__rlimit_resource>(resource), &now, nullptr);
}

// One life of the library under a limit: "works", "falls back" or "fails", or "!" and what must not be.
std::string live(Rank& rank, int resource, rlim_t limit) {
  perf::set_plugin_log(NCCL_LOG_NONE, "");
  perf::clear_plugin_log();
  auto plugin = perf::Plugin::open(built("lib/libnccl-net-fanin.so"));
  if (!plugin) return "!" + plugin.error().text();
  std::vector<float> data(1 << 18, 1);
  set_limit(0, resource, limit);
  std::string end = "works";
  {
    auto comm = perf::CollComm::make(*plugin, rank.group());
    if (!comm) {
      end = "fails";
    } else if (!comm->comm()) {
      end = "falls back";
    } else {
      for (int i = 0; i < 3 && end == "works"; i++) {
        void* request = nullptr;
        int done = 0, size = 0;
        ncclResult_t rc = comm->table().iallreduce(comm->comm(), data.data(), data.data() + (1 << 17),
                                                   1 << 17, ncclFloat32, ncclSum, nullptr, nullptr, &request);
        auto limit_at = std::chrono::steady_clock::now() + milliseconds(20000);
        while (rc == ncclSuccess && !done && std::chrono::steady_clock::now() < limit_at)
          rc = request ? comm->table().test(request, &done, &size) : ncclInternalError;
        if (rc != ncclSuccess) end = "fails";
        if (rc == ncclSuccess && !done) end = "!hangs";
        if (end == "works" && data[(1 << 17) + 5] != 1) end = "!wrong result";
      }
      (void)comm->close();
    }
  }
  set_limit(0, resource, RLIM_INFINITY);
  return end;
}

// In a child per limit: from too little to the first that works, and one more. Those that do not work say the remedy.
void sweep(const char* what, int resource, const std::function<rlim_t(int)>& limit_of, int steps,
           const std::string& remedy = "") {
  ReducerProcess reducer(2);
  const Footprint idle = Footprint::of(reducer.pid());
  int worked = 0, refused = 0;
  for (int step = 0; step < steps && worked < 2; step++) {
    RankProcesses one(
        1,
        {{"FANIN_REDUCERS", reducer.address()}, {"FANIN_CONNECT_TIMEOUT_MS", "5000"}, {"FANIN_WINDOW", "1M"}},
        [&](Rank& rank) -> std::string {
          std::string end = live(rank, resource, limit_of(step));
          if (end.starts_with("!")) return end;
          rank.say(end);
          if (const std::string log = perf::plugin_log_text();
              end != "works" && log.find(remedy) == std::string::npos)
            return "it " + end + " and does not say " + remedy + ": " + log;
          // What was short is there again: so is the library.
          end = live(rank, resource, RLIM_INFINITY);
          return end == "works" ? "" : "afterwards it " + end + ": " + perf::plugin_log_text();
        });
    Outcome o = one.wait(milliseconds(30000))[0];
    EXPECT_EQ(o.failure, "") << what << ", step " << step;
    ASSERT_FALSE(o.lines.empty()) << what << ", step " << step;
    (o.lines[0] == "works" ? worked : refused)++;
  }
  EXPECT_EQ(worked, 2) << what << ": no limit was enough";
  EXPECT_GT(refused, 0) << what << ": no limit was too little";
  auto clean = [&] { return Footprint::of(reducer.pid()).within(idle); };
  EXPECT_TRUE(within(milliseconds(20000), clean))
      << Footprint::of(reducer.pid()).text() << ", idle " << idle.text();
}

TEST(Limits, DescriptorsOfTheWorker) {
  // Those that are open are all below the limit at step 0, as far as there are no gaps.
  sweep(
      "descriptors", RLIMIT_NOFILE,
      [](int step) { return rlim_t{Footprint::of().descriptors} + static_cast<rlim_t>(step); }, 60,
      "ulimit -n");
}

TEST(Limits, MemoryOfTheWorker) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers' shadow memory does not bear a limit on address space";
#endif
  // Address space; a thread's stack takes 8 MiB of it.
  const int in_one = repeats(512, 32);
  sweep(
      "memory", RLIMIT_AS,
      [&](int step) {
        return mapped_bytes(0) + static_cast<rlim_t>(step) * static_cast<rlim_t>(in_one) * 1024;
      },
      64 * 1024 / in_one);
}

// A reducer that runs out refuses with a reason, serves those it has, and works again when there is more.
void starve(int resource, const std::function<rlim_t(pid_t)>& limit, const char* reason) {
  ReducerProcess reducer(2);
  RankProcesses::Env env = {{"FANIN_REDUCERS", reducer.address()}, {"FANIN_CONNECT_TIMEOUT_MS", "5000"}};
  int go[2];
  ASSERT_EQ(pipe2(go, O_CLOEXEC), 0);
  Fd go_read(go[0]), go_write(go[1]);
  RankProcesses first(2, env, [&](Rank& rank) -> std::string {
    go_write.reset();
    CollnetRank r;
    std::string failure = r.connect(rank.group());
    if (failure.empty()) failure = r.run({.seed = 1});
    rank.say("running");
    char byte;
    if (::read(go_read.get(), &byte, 1) != 0) return "read";
    for (uint64_t i = 0; i < 5 && failure.empty(); i++) failure = r.run({.seed = i});
    std::string closing = r.close();
    return failure.empty() ? closing : failure;
  });
  for (int r = 0; r < 2; r++) ASSERT_TRUE(first.wait_for(r, "running", milliseconds(20000)));
  set_limit(reducer.pid(), resource, limit(reducer.pid()));
  RankProcesses late(2, env, [](Rank& rank) -> std::string {
    CollnetRank r;
    std::string failure = r.connect(rank.group(), false);
    if (!failure.empty()) return failure;
    rank.say(r.usable() ? "admitted" : perf::last_plugin_line());
    return "";
  });
  for (const Outcome& o : late.wait(milliseconds(20000))) {
    EXPECT_EQ(o.failure, "");
    ASSERT_FALSE(o.lines.empty());
    EXPECT_NE(o.lines[0].find(reason), std::string::npos) << o.lines[0];
  }
  ASSERT_TRUE(reducer.running()) << reducer.said();
  go_write.reset();
  for (const Outcome& o : first.wait(milliseconds(20000))) EXPECT_EQ(o.failure, "") << reducer.said();
  set_limit(reducer.pid(), resource, RLIM_INFINITY);
  EXPECT_EQ(run_ranks(2, env, [](Rank& rank) { return run_cases(rank, {{}}); }), "") << reducer.said();
}

// Who comes late is admitted or falls back, as numbers below the limit happen to be free; what they are told when the
// limit is there from the start: reducer_cli_test.cc.
TEST(Limits, DescriptorsOfTheReducer) { starve(RLIMIT_NOFILE, limit_in_use, ""); }

TEST(Limits, MemoryOfTheReducer) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers' shadow memory does not bear a limit on address space";
#endif
  starve(
      RLIMIT_AS, [](pid_t pid) { return mapped_bytes(pid) + (256 << 10); }, "Cannot allocate memory");
}

// Whatever allocation it is that fails: of a session's memory, of a member, of a line of the log.
TEST(Limits, MemoryOfTheReducerAtAnyPoint) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers' shadow memory does not bear a limit on address space";
#endif
  ReducerProcess reducer(2);
  const auto at = *tcp::Address::numeric("127.0.0.1", reducer.port());
  RawWorker before(at);
  before.join(RawWorker::hello(RawWorker::session(1), 0, 1));
  for (size_t step = 0; step < 24; ++step) {
    set_limit(reducer.pid(), RLIMIT_AS, mapped_bytes(reducer.pid()) + step * (96 << 10));
    std::deque<RawWorker> held;
    uint32_t refused = 0;
    for (uint32_t i = 0; i < 200 && refused < 20; ++i) {
      wire::SessionId id = RawWorker::session(2);
      id[1] = static_cast<uint8_t>(i);
      id[2] = static_cast<uint8_t>(step);
      RawWorker& w = held.emplace_back(at);
      const wire::Welcome answer = w.greet(RawWorker::hello(id, 0, 2, 0, 4096));
      if (answer.refusal == wire::Refusal::kNoMemory) ++refused;
      ASSERT_TRUE(answer.refusal == wire::Refusal::kNone || answer.refusal == wire::Refusal::kNoMemory)
          << w.refusal() << reducer.said();
    }
    EXPECT_GT(refused, 0u) << step;
    ASSERT_TRUE(reducer.running()) << "step " << step << reducer.said();
    const float one = 1;
    std::vector<Bytes> blocks;
    before.append(&blocks, RawWorker::all_reduce(step, sizeof one), reinterpret_cast<const std::byte*>(&one));
    ASSERT_EQ(before.exchange(blocks).size(), 1u) << reducer.said();
    set_limit(reducer.pid(), RLIMIT_AS, RLIM_INFINITY);
  }
  RawWorker after(at);
  after.join(RawWorker::hello(RawWorker::session(3), 0, 2));
}

}  // namespace
}  // namespace fanin::test
