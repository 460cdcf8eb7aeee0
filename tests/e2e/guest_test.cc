// The plugin as a guest in someone's process: forks, reloads, closing in the middle, odd registrations.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf/common/plugin_log.h"
#include "tests/support/collnet_rank.h"
#include "tests/support/footprint.h"
#include "tests/support/process.h"
#include "tests/support/soon.h"

namespace fanin::test {
namespace {

// A job's DataLoader: a child of a process that has loaded the plugin already.
TEST(Guest, ForkAfterLoadingThenUseInTheChild) {
  ReducerProcess reducer(2);
  EXPECT_EQ(run_ranks(2, {{"FANIN_REDUCERS", reducer.address()}},
                      [](Rank& rank) -> std::string {
                        const size_t before = Footprint::of().threads;  // ThreadSanitizer has one of its own
                        auto plugin = perf::Plugin::open(built("lib/libnccl-net-fanin.so"));
                        if (!plugin) return plugin.error().text();
                        void* context = nullptr;
                        int devices = 0;
                        if (plugin->collnet().init(&context, 0, perf::plugin_logger()) != ncclSuccess ||
                            plugin->collnet().devices(&devices) != ncclSuccess)
                          return "init";
                        if (const size_t now = Footprint::of().threads; now != before)
                          return "threads before the first connection: " + std::to_string(now - before);
                        pid_t child = fork();
                        if (child == 0) {
                          std::string failure = run_cases(rank, {{.seed = 1}, {.seed = 2}});
                          if (!failure.empty()) rank.say("!" + failure);
                          _exit(failure.empty() ? 0 : 1);
                        }
                        int status = 0;
                        waitpid(child, &status, 0);
                        return status == 0 ? "" : "the child failed";
                      }),
            "");
}

TEST(Guest, ForkWhileACommunicatorIsOpenAndTheParentGoesOn) {
  ReducerProcess reducer(2);
  EXPECT_EQ(run_ranks(2, {{"FANIN_REDUCERS", reducer.address()}},
                      [](Rank& rank) -> std::string {
                        CollnetRank r;
                        std::string failure = r.connect(rank.group());
                        for (uint64_t i = 0; i < 10 && failure.empty(); i++) {
                          failure = r.run({.seed = i});
                          pid_t child = fork();
                          // As a DataLoader worker: lives a little, ends through exit handlers or without.
                          if (child == 0) _exit(0);
                          if (failure.empty()) failure = r.run({.seed = 100 + i});
                          int status = 0;
                          waitpid(child, &status, 0);
                          if (status != 0) failure = "a child died of status " + std::to_string(status);
                        }
                        std::string closing = r.close();
                        return failure.empty() ? closing : failure;
                      }),
            "");
  EXPECT_TRUE(reducer.running()) << reducer.said();
}

// A child that outlives a killed worker holds none of its connections: the others hear at once.
TEST(Guest, AWorkersDeathIsNoticedThoughItsChildLives) {
  ReducerProcess reducer(2);
  int ends[2];  // the child lives until the test closes its end
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  Fd life(ends[0]), life_end(ends[1]);
  RankProcesses ranks(2, {{"FANIN_REDUCERS", reducer.address()}}, [&](Rank& rank) -> std::string {
    CollnetRank r;
    if (std::string failure = r.connect(rank.group()); !failure.empty()) return failure;
    if (std::string failure = r.run({.seed = 1}); !failure.empty()) return failure;
    if (rank.rank() == 1) {
      if (fork() == 0) {
        life_end.reset();
        char byte;
        _exit(static_cast<int>(::read(life.get(), &byte, 1)));
      }
      // What the parent does meanwhile goes on.
      if (std::string failure = r.run({.seed = 2}); !failure.empty()) return failure;
      rank.say("forked");
      pause();
    }
    if (std::string failure = r.run({.seed = 2}); !failure.empty()) return failure;
    Error why(Errc::kInternal, "");
    std::string failure = r.run_until_error(
        milliseconds(20000), [] {}, &why);
    if (failure.empty() && why.code() != Errc::kRemote) failure = why.text();
    return failure;
  });
  ASSERT_TRUE(ranks.wait_for(1, "forked", milliseconds(20000)));
  kill(ranks.pid(1), SIGKILL);
  const auto since = std::chrono::steady_clock::now();
  EXPECT_TRUE(ranks.wait_end(0, kSoon));
  EXPECT_LT(std::chrono::steady_clock::now() - since, kSoon);
  life_end.reset();
  EXPECT_EQ(ranks.wait(milliseconds(20000))[0].failure, "");
}

TEST(Guest, UnloadedAndLoadedAgainBetweenJobsWithoutLeaks) {
  ReducerProcess reducer(2);
  EXPECT_EQ(run_ranks(2, {{"FANIN_REDUCERS", reducer.address()}},
                      [](Rank& rank) -> std::string {
                        Footprint first;
                        for (int job = 0; job < 5; job++) {
                          // run_cases closes the communicator and dlcloses the plugin.
                          if (std::string f = run_cases(rank, {{.bytes = 100'000, .seed = 77}}); !f.empty())
                            return "job " + std::to_string(job) + ": " + f;
                          const Footprint now = Footprint::of();
                          if (job == 0) first = now;
                          if (now.descriptors != first.descriptors || now.threads != first.threads)
                            return "leak: " + now.text() + ", after the first job " + first.text();
                        }
                        return "";
                      }),
            "");
}

TEST(Guest, SameRegionRegisteredManyTimes) {
  ReducerProcess reducer(1);
  EXPECT_EQ(run_ranks(2, {{"FANIN_REDUCERS", reducer.address()}},
                      [](Rank& rank) -> std::string {
                        auto plugin = perf::Plugin::open(built("lib/libnccl-net-fanin.so"));
                        if (!plugin) return plugin.error().text();
                        auto comm = perf::CollComm::make(*plugin, rank.group());
                        if (!comm) return comm.error().text();
                        std::vector<char> memory(1 << 16);
                        for (int i = 0; i < 200; i++) {
                          auto m = comm->register_memory(memory.data(), memory.size());
                          if (!m) return m.error().text();
                          if (!*m) return "a null handle";
                        }
                        if (Status s = comm->close(); !s) return s.error().text();
                        return "";
                      }),
            "");
}

// What ncclCommAbort does: requests in flight are never tested again.
TEST(Guest, ClosingWithRequestsInFlightIsPrompt) {
  ReducerProcess reducer(2);
  EXPECT_EQ(run_ranks(2, {{"FANIN_REDUCERS", reducer.address()}},
                      [](Rank& rank) -> std::string {
                        auto plugin = perf::Plugin::open(built("lib/libnccl-net-fanin.so"));
                        if (!plugin) return plugin.error().text();
                        auto comm = perf::CollComm::make(*plugin, rank.group());
                        if (!comm) return comm.error().text();
                        std::vector<float> send(1 << 20, 1), recv(1 << 20);
                        auto sm = comm->register_memory(send.data(), send.size() * 4);
                        auto rm = comm->register_memory(recv.data(), recv.size() * 4);
                        if (!sm || !rm) return "registration";
                        // Rank 1 sends nothing, so rank 0's requests cannot complete.
                        if (rank.rank() == 0)
                          for (size_t i = 0; i < 8; i++) {
                            void* request = nullptr;
                            if (comm->table().iallreduce(comm->comm(), send.data() + (i << 17),
                                                         recv.data() + (i << 17), 1 << 17, ncclFloat32,
                                                         ncclSum, *sm, *rm, &request) != ncclSuccess)
                              return "iallreduce";
                          }
                        if (Status s = rank.group().barrier(); !s) return s.error().text();
                        auto before = std::chrono::steady_clock::now();
                        Status s = comm->close();
                        auto took = std::chrono::steady_clock::now() - before;
                        if (!s) return s.error().text();
                        if (took > kSoon) return "closing took too long";
                        return "";
                      }),
            "");
  EXPECT_EQ(
      run_ranks(2, {{"FANIN_REDUCERS", reducer.address()}}, [](Rank& rank) { return run_cases(rank, {{}}); }),
      "");
}

}  // namespace
}  // namespace fanin::test
