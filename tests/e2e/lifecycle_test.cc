// The whole life of the library in a process, over and over: loaded and unloaded, communicators one after the other and
// all at once, closed in every state, on small and large stacks; and of a pool: reducers replaced under running jobs.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "perf/common/plugin_log.h"
#include "tests/support/collnet_rank.h"
#include "tests/support/footprint.h"
#include "tests/support/held_port.h"
#include "tests/support/long_form.h"
#include "tests/support/process.h"
#include "tests/support/program.h"
#include "transport/sanitizers.h"
#include "transport/tcp/socket.h"

namespace fanin::test {
namespace {

// Memory that allocators keep and that does not grow with repetition; under a sanitizer what was freed is kept too.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kSlackKib = 1 << 20;
#else
constexpr size_t kSlackKib = 6 << 10;
#endif

bool mapped(const std::string& library) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(library) != std::string::npos) return true;
  return false;
}

std::string grown(const char* what, const Footprint& before, pid_t pid = 0) {
  Footprint after;
  auto clean = [&] { return (after = Footprint::of(pid)).within(before); };
  if (!within(milliseconds(20000), clean) || after.resident_kib > before.resident_kib + kSlackKib)
    return std::string(what) + " grew from " + before.text() + " to " + after.text();
  return "";
}

// A communicator of one rank of this process: its own group.
std::string connect_alone(CollnetRank& r) {
  Result<Fd> listener = tcp::listen_on(tcp::Address::loopback(0));
  if (!listener) return listener.error().text();
  Result<perf::Group> group = perf::Group::host(*listener, 1, milliseconds(10000));
  return group ? r.connect(*group) : group.error().text();
}

std::string live_once(size_t bytes, uint64_t seed) {
  CollnetRank r(bytes);
  std::string failure = connect_alone(r);
  if (failure.empty()) failure = r.run({.bytes = bytes, .seed = seed});
  std::string closing = r.close();
  return failure.empty() ? closing : failure;
}

RankProcesses::Env env_of(const ReducerProcess& reducer) {
  return {{"FANIN_REDUCERS", reducer.address()}, {"FANIN_WINDOW", "256K"}};
}

// In a process of its own with one rank.
std::string alone(const ReducerProcess& reducer, const RankProcesses::Body& body) {
  return run_ranks(1, env_of(reducer), body, milliseconds(repeats(50'000, 900'000)));
}

// Nothing of a library that is gone runs when its process forks.
std::string fork_once() {
  pid_t child = fork();
  if (child == 0) _exit(0);
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? "" : "a child forked after unloading died";
}

TEST(Lifecycle, LoadedAndUnloadedManyTimes) {
  ReducerProcess reducer(1);
  const Footprint idle = Footprint::of(reducer.pid());
  EXPECT_EQ(alone(reducer,
                  [](Rank&) -> std::string {
                    Footprint before;
                    for (int i = 0, n = repeats(250, 1000); i < n; i++) {
                      if (std::string f = live_once(50'000, static_cast<uint64_t>(i)); !f.empty())
                        return "life " + std::to_string(i) + ": " + f;
                      if (mapped("libnccl-net-fanin")) return "dlclose does not unload the library";
                      if (std::string f = fork_once(); !f.empty()) return f;
                      if (i == 10) before = Footprint::of();
                    }
                    return grown("the worker", before);
                  }),
            "");
  EXPECT_EQ(grown("the reducer", idle, reducer.pid()), "");
}

TEST(Lifecycle, ManyCommunicatorsOneAfterTheOtherAndAllAtOnce) {
  ReducerProcess reducer(1, {"--block", "4096", "--memory", "256M"});
  EXPECT_EQ(run_ranks(
                1, {{"FANIN_REDUCERS", reducer.address()}, {"FANIN_WINDOW", "64K"}},
                [&](Rank&) -> std::string {
                  // One library for all of them, as in NCCL.
                  auto keep = perf::Plugin::open(built("lib/libnccl-net-fanin.so"));
                  if (!keep) return keep.error().text();
                  const size_t n = static_cast<size_t>(repeats(40, 1000));
                  Footprint before;
                  for (size_t i = 0; i < n; i++) {
                    if (i == 10) before = Footprint::of();
                    if (std::string f = live_once(20'000, i); !f.empty())
                      return "communicator " + std::to_string(i) + ": " + f;
                  }
                  if (std::string f = grown("the worker", before); !f.empty()) return f;
                  std::vector<std::unique_ptr<CollnetRank>> all;
                  for (size_t i = 0; i < n; i++) {
                    all.push_back(std::make_unique<CollnetRank>(20'000));
                    if (std::string f = connect_alone(*all.back()); !f.empty())
                      return "communicator " + std::to_string(i) + " at once: " + f;
                  }
                  for (size_t i = 0; i < n; i++)
                    if (std::string f = all[i]->run({.bytes = 20'000, .seed = i}); !f.empty())
                      return "communicator " + std::to_string(i) + " of " + std::to_string(n) + ": " + f;
                  for (auto& r : all)
                    if (std::string f = r->close(); !f.empty()) return f;
                  all.clear();
                  Footprint after;
                  auto clean = [&] { return (after = Footprint::of()).within(before); };
                  return within(milliseconds(20000), clean) ? "" : before.text() + " became " + after.text();
                },
                milliseconds(repeats(50'000, 900'000))),
            "");
  EXPECT_TRUE(reducer.running()) << reducer.said();
}

// ---- closeColl, whatever the state

struct State {
  const char* name;
  int ranks;
  // Between connect and close, on every rank.
  std::function<std::string(Rank&, perf::CollComm&, std::vector<float>&)> reach;
};

std::string post(perf::CollComm& c, std::vector<float>& data, size_t messages, std::vector<void*>* requests) {
  const size_t each = data.size() / 2 / messages;
  for (size_t i = 0; i < messages; i++) {
    void* request = nullptr;
    ncclResult_t rc =
        c.table().iallreduce(c.comm(), data.data() + i * each, data.data() + data.size() / 2 + i * each, each,
                             ncclFloat32, ncclSum, nullptr, nullptr, &request);
    if (rc != ncclSuccess) return std::string("iallreduce: ") + perf::result_name(rc);
    if (request) requests->push_back(request);
  }
  return "";
}

std::string finish(perf::CollComm& c, const std::vector<void*>& requests) {
  for (void* r : requests)
    for (int done = 0; !done;) {
      int size;
      if (ncclResult_t rc = c.table().test(r, &done, &size); rc != ncclSuccess)
        return std::string("test: ") + perf::result_name(rc);
    }
  return "";
}

const State kStates[] = {
    {"NothingPosted", 2, [](Rank&, perf::CollComm&, std::vector<float>&) { return ""; }},
    {"CompleteButNotTested", 2,
     [](Rank& rank, perf::CollComm& c, std::vector<float>& data) -> std::string {
       std::vector<void*> requests, tested;
       if (std::string f = post(c, data, 4, &requests); !f.empty()) return f;
       // The last one complete: so are those before it.
       tested.push_back(requests.back());
       if (std::string f = finish(c, tested); !f.empty()) return f;
       return rank.group().barrier() ? "" : "barrier";
     }},
    {"AllTested", 2,
     [](Rank& rank, perf::CollComm& c, std::vector<float>& data) -> std::string {
       std::vector<void*> requests;
       if (std::string f = post(c, data, 4, &requests); !f.empty()) return f;
       if (std::string f = finish(c, requests); !f.empty()) return f;
       return rank.group().barrier() ? "" : "barrier";
     }},
    {"PostedByThisRankOnly", 2,
     [](Rank& rank, perf::CollComm& c, std::vector<float>& data) -> std::string {
       std::vector<void*> requests;
       return rank.rank() == 0 ? post(c, data, 4, &requests) : "";
     }},
    {"WindowFull", 2,
     [](Rank& rank, perf::CollComm& c, std::vector<float>& data) -> std::string {
       std::vector<void*> requests;
       if (rank.rank() != 0) return "";
       for (int i = 0; i < 100; i++)
         if (std::string f = post(c, data, 1, &requests); !f.empty()) return f;
       return requests.size() < 100 ? "" : "the window never filled";
     }},
    {"TheOtherRankHasLeft", 2,
     [](Rank& rank, perf::CollComm& c, std::vector<float>& data) -> std::string {
       std::vector<void*> requests;
       if (rank.rank() == 1) return c.close() && rank.group().barrier() ? "" : "close";
       return rank.group().barrier() ? post(c, data, 4, &requests) : "barrier";
     }},
    {"Failed", 2,
     [](Rank& rank, perf::CollComm& c, std::vector<float>& data) -> std::string {
       std::vector<void*> requests;
       if (rank.rank() == 1) return c.close() ? "" : "close";
       if (std::string f = post(c, data, 2, &requests); !f.empty() && f.find("Remote") == f.npos) return f;
       std::string f = finish(c, requests);
       return f.find("ncclRemoteError") == f.npos ? "it did not fail: " + f : "";
     }},
    {"OneRankWithAMessageInFlight", 1,
     [](Rank&, perf::CollComm& c, std::vector<float>& data) -> std::string {
       std::vector<void*> requests;
       return post(c, data, 8, &requests);
     }},
};

class CloseIn : public testing::TestWithParam<size_t> {};

TEST_P(CloseIn, IsPromptAndLeavesNothing) {
  const State& state = kStates[GetParam()];
  ReducerProcess reducer(2);
  const Footprint idle = Footprint::of(reducer.pid());
  EXPECT_EQ(run_ranks(state.ranks, {{"FANIN_REDUCERS", reducer.address()}, {"FANIN_WINDOW", "4M"}},
                      [&](Rank& rank) -> std::string {
                        setenv("NCCL_COLLNET_ENABLE", "1", 1);
                        perf::set_plugin_log(NCCL_LOG_NONE, "");
                        const Footprint before = Footprint::of();
                        std::vector<float> data(4 << 20);
                        {
                          auto plugin = perf::Plugin::open(built("lib/libnccl-net-fanin.so"));
                          if (!plugin) return plugin.error().text();
                          auto comm = perf::CollComm::make(*plugin, rank.group());
                          if (!comm) return comm.error().text();
                          std::string failure = state.reach(rank, *comm, data);
                          auto began = std::chrono::steady_clock::now();
                          Status closed = comm->close();
                          auto took = std::chrono::steady_clock::now() - began;
                          if (!failure.empty()) return failure;
                          if (!closed) return closed.error().text();
                          if (took > milliseconds(1000)) return "closing took too long";
                        }
                        Footprint after;
                        auto clean = [&] { return (after = Footprint::of()).within(before); };
                        return within(milliseconds(20000), clean) ? ""
                                                                  : before.text() + " became " + after.text();
                      }),
            "");
  auto clean = [&] { return Footprint::of(reducer.pid()).within(idle); };
  EXPECT_TRUE(within(milliseconds(20000), clean))
      << Footprint::of(reducer.pid()).text() << ", idle " << idle.text();
  EXPECT_TRUE(reducer.running()) << reducer.said();
}
INSTANTIATE_TEST_SUITE_P(State, CloseIn, testing::Range(size_t{0}, std::size(kStates)),
                         [](const auto& info) { return std::string(kStates[info.param].name); });

// A reducer that does not take anything: the sockets are full, closing must not wait for it.
TEST(Lifecycle, CloseIsPromptWhileAReducerIsStopped) {
  ReducerProcess reducer(1);
  RankProcesses ranks(1, {{"FANIN_REDUCERS", reducer.address()}}, [](Rank& rank) -> std::string {
    perf::set_plugin_log(NCCL_LOG_NONE, "");
    auto plugin = perf::Plugin::open(built("lib/libnccl-net-fanin.so"));
    auto comm = perf::CollComm::make(*plugin, rank.group());
    if (!comm || !comm->comm()) return "no communicator";
    rank.say("connected");
    std::vector<float> data(8 << 20);
    std::vector<void*> requests;
    std::this_thread::sleep_for(milliseconds(300));  // the reducer is stopped by now, or it is an easier test
    std::string failure = post(*comm, data, 4, &requests);
    std::this_thread::sleep_for(milliseconds(100));
    auto began = std::chrono::steady_clock::now();
    if (!comm->close() || !failure.empty()) return "failed: " + failure;
    auto took = std::chrono::steady_clock::now() - began;
    return took < milliseconds(1000) ? "" : "closing took too long";
  });
  ASSERT_TRUE(ranks.wait_for(0, "connected", milliseconds(10000)));
  reducer.signal(SIGSTOP);
  EXPECT_EQ(ranks.wait(milliseconds(20000))[0].failure, "");
  reducer.signal(SIGCONT);
}

TEST(Lifecycle, ExitWithoutClosing) {
  ReducerProcess reducer(2);
  const Footprint idle = Footprint::of(reducer.pid());
  // Idle, in flight, and from a forked child.
  for (int how = 0; how < 3; how++) {
    EXPECT_EQ(run_ranks(1, {{"FANIN_REDUCERS", reducer.address()}},
                        [how](Rank& rank) -> std::string {
                          perf::set_plugin_log(NCCL_LOG_NONE, "");
                          auto plugin = perf::Plugin::open(built("lib/libnccl-net-fanin.so"));
                          auto comm = perf::CollComm::make(*plugin, rank.group());
                          if (!comm || !comm->comm()) return "no communicator";
                          // Never freed: exit leaves memory that operations are under way on where it is.
                          static auto& data = *new std::vector<float>(4 << 20);
                          std::vector<void*> requests;
                          if (how >= 1)
                            if (std::string f = post(*comm, data, 4, &requests); !f.empty()) return f;
                          if (how == 2 && fork() == 0) exit(0);
                          exit(0);
                        }),
              "")
        << how;
  }
  auto clean = [&] { return Footprint::of(reducer.pid()).within(idle); };
  EXPECT_TRUE(within(milliseconds(20000), clean))
      << Footprint::of(reducer.pid()).text() << ", idle " << idle.text();
  EXPECT_EQ(
      run_ranks(2, {{"FANIN_REDUCERS", reducer.address()}}, [](Rank& rank) { return run_cases(rank, {{}}); }),
      "");
}

// ---- Stacks

class Stack : public testing::TestWithParam<size_t> {};

TEST_P(Stack, IsEnoughForEveryCall) {
  ReducerProcess reducer(1);
  EXPECT_EQ(alone(reducer,
                  [](Rank&) -> std::string {
                    pthread_attr_t attributes;
                    pthread_attr_init(&attributes);
                    pthread_attr_setstacksize(&attributes, GetParam());
                    std::string failure;
                    pthread_t thread;
                    auto body = [](void* out) -> void* {
                      *static_cast<std::string*>(out) = live_once(300'000, 5);
                      return nullptr;
                    };
                    if (pthread_create(&thread, &attributes, body, &failure) != 0) return "pthread_create";
                    pthread_join(thread, nullptr);
                    return failure;
                  }),
            "");
}
INSTANTIATE_TEST_SUITE_P(Kib, Stack, testing::Values(size_t{128} << 10, size_t{16} << 20),
                         [](const auto& info) { return std::to_string(info.param >> 10); });

#ifdef FANIN_TSAN
constexpr const char* kSmallStack = "1024";  // ThreadSanitizer keeps some 100 KiB of its own on each
#else
constexpr const char* kSmallStack = "128";
#endif
// ulimit -s is the stack of every thread that is made without saying otherwise: ours too.
TEST(Lifecycle, SmallAndLargeStackLimits) {
  for (const char* limit : {kSmallStack, "16384", "unlimited"}) {
    Program run("/bin/sh", {"-c", std::string("ulimit -s ") + limit + " && exec " + built("bin/fanin-perf") +
                                      " -n 2 -r 1 --lanes 2 -b 64K -e 1M --iters 3"});
    auto outcome = run.wait(milliseconds(40000));
    EXPECT_EQ(outcome.exit_code, 0) << limit << ": " << outcome.err;
  }
}

// ---- A pool under jobs

TEST(Lifecycle, ReducersAreReplacedOneByOneBetweenJobs) {
  const HeldPort ports[3];  // from one reducer to the next
  std::vector<std::string> at;
  std::vector<ReducerProcess> pool;
  for (const HeldPort& port : ports) {
    at.push_back(port.text());
    pool.emplace_back(1, std::vector<std::string>{"--listen", at.back()});
  }
  RankProcesses::Env env = {{"FANIN_REDUCERS", pool_of(pool)}, {"FANIN_CONNECT_TIMEOUT_MS", "5000"}};
  auto job = [](Rank& rank) { return run_cases(rank, {{.bytes = 500'000, .seed = 9}}); };
  for (int round = 0, n = repeats(1, 20); round < n; round++)
    for (size_t i = 0; i < at.size(); i++) {
      // The job that runs while its reducer is told to go ends in peace, and the reducer with it.
      int go[2];
      ASSERT_EQ(pipe2(go, O_CLOEXEC), 0);
      Fd go_read(go[0]), go_write(go[1]);
      RankProcesses ranks(2, env, [&](Rank& rank) -> std::string {
        go_write.reset();
        CollnetRank r;
        std::string failure = r.connect(rank.group());
        if (failure.empty()) failure = r.run({});
        rank.say("running");
        char byte;
        if (::read(go_read.get(), &byte, 1) != 0) return "read";
        if (failure.empty()) failure = r.run({.seed = 7});
        std::string closing = r.close();
        return failure.empty() ? closing : failure;
      });
      for (int r = 0; r < 2; r++) ASSERT_TRUE(ranks.wait_for(r, "running", milliseconds(20000)));
      pool[i].signal(SIGTERM);
      go_write.reset();
      for (const Outcome& o : ranks.wait(milliseconds(20000))) EXPECT_EQ(o.failure, "");
      auto status = pool[i].wait(milliseconds(20000));
      ASSERT_TRUE(status) << pool[i].said();
      EXPECT_EQ(*status, 0) << pool[i].said();
      // Two of three: a job goes on with those there are. Then three again, at the same addresses.
      EXPECT_EQ(run_ranks(2, env, job), "");
      std::vector<ReducerProcess> next;
      for (size_t j = 0; j < at.size(); j++)
        next.push_back(j == i ? ReducerProcess(1, {"--listen", at[i]}) : std::move(pool[j]));
      pool.swap(next);
      EXPECT_EQ(run_ranks(2, env, job), "");
    }
}

// Nothing is worth a person's attention when all is well.
TEST(Lifecycle, AGoodRunWarnsOfNothing) {
  ReducerProcess reducer(2);
  EXPECT_EQ(run_ranks(2, {{"FANIN_REDUCERS", reducer.address()}},
                      [](Rank& rank) -> std::string {
                        perf::clear_plugin_log();
                        std::string failure = run_cases(rank, {{}, {.coll = Coll::kAllGather}, {.bytes = 4}});
                        return failure.empty() ? perf::last_plugin_warning() : failure;
                      }),
            "");
}

}  // namespace
}  // namespace fanin::test
