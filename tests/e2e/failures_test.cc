// Reducers and ranks that die, and reducers told to stop, in mid-run.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/collnet_rank.h"
#include "tests/support/process.h"
#include "tests/support/reducer_fixture.h"
#include "tests/support/soon.h"

namespace fanin::test {
namespace {

// All-reduces until something breaks, then says what.
std::string run_into_error(Rank& rank) {
  CollnetRank r;
  if (std::string failure = r.connect(rank.group()); !failure.empty()) return failure;
  Error why(Errc::kInternal, "");
  std::string failure = r.run_until_error(
      milliseconds(30000), [&] { rank.say("running"); }, &why);
  if (!failure.empty()) return failure;
  rank.say((why.code() == Errc::kRemote ? "remote: " : "other: ") + why.text());
  return r.close();
}

// Every rank but `except` ended in good order soon after `since`, with a remote error that names the culprit.
void expect_remote_errors(const std::vector<Outcome>& outcomes, std::chrono::steady_clock::time_point since,
                          int except, const std::string& culprit) {
  for (size_t r = 0; r < outcomes.size(); r++) {
    if (static_cast<int>(r) == except) continue;
    const Outcome& o = outcomes[r];
    EXPECT_EQ(o.failure, "") << "rank " << r;
    ASSERT_FALSE(o.lines.empty()) << "rank " << r;
    EXPECT_TRUE(o.lines.back().starts_with("remote: ")) << "rank " << r << ": " << o.lines.back();
    EXPECT_NE(o.lines.back().find(culprit), std::string::npos) << "rank " << r << ": " << o.lines.back();
    EXPECT_LT(o.ended - since, kSoon) << "rank " << r;
  }
}

TEST(Failures, ReducerKilledInMidRun) {
  std::vector<ReducerProcess> pool;
  for (int i = 0; i < 2; i++) pool.emplace_back(2);
  RankProcesses ranks(3, {{"FANIN_REDUCERS", pool_of(pool)}}, run_into_error);
  for (int r = 0; r < 3; r++) ASSERT_TRUE(ranks.wait_for(r, "running", milliseconds(20000)));
  auto since = std::chrono::steady_clock::now();
  pool[1].signal(SIGKILL);
  expect_remote_errors(ranks.wait(milliseconds(20000)), since, -1, pool[1].address());
  EXPECT_TRUE(pool[0].running()) << pool[0].said();
}

TEST(Failures, WorkerKilledAndTheReducersGoOnServingOthers) {
  std::vector<ReducerProcess> pool;
  for (int i = 0; i < 2; i++) pool.emplace_back(2);
  RankProcesses::Env env = {{"FANIN_REDUCERS", pool_of(pool)}};
  RankProcesses ranks(3, env, run_into_error);
  // Another job on the same pool, from before the death until after it.
  int go[2];
  ASSERT_EQ(pipe(go), 0);
  Fd go_read(go[0]), go_write(go[1]);
  RankProcesses other(2, env, [&](Rank& rank) -> std::string {
    go_write.reset();
    CollnetRank r;
    if (std::string failure = r.connect(rank.group()); !failure.empty()) return failure;
    rank.say("running");
    uint64_t seed = 0;
    // Both ranks must do the same number of collectives: rank 0 decides.
    for (int64_t last = 0; !last;) {
      if (std::string failure = r.run({.seed = seed++}); !failure.empty()) return failure;
      char byte;
      int64_t told = rank.rank() == 0 && seed > 10 && ::read(go_read.get(), &byte, 1) == 0;
      auto all = rank.group().all_gather_value(told);
      if (!all) return all.error().text();
      last = (*all)[0];
    }
    if (std::string failure = r.run({.seed = seed}); !failure.empty()) return failure;
    return r.close();
  });
  for (int r = 0; r < 3; r++) ASSERT_TRUE(ranks.wait_for(r, "running", milliseconds(20000)));
  for (int r = 0; r < 2; r++) ASSERT_TRUE(other.wait_for(r, "running", milliseconds(20000)));
  auto since = std::chrono::steady_clock::now();
  kill(ranks.pid(1), SIGKILL);
  auto outcomes = ranks.wait(milliseconds(20000));
  EXPECT_EQ(outcomes[1].failure, "killed by signal 9");
  expect_remote_errors(outcomes, since, 1, "rank 1");
  go_write.reset();
  for (const Outcome& o : other.wait(milliseconds(20000))) EXPECT_EQ(o.failure, "");
  // And a new job finds the pool as good as new.
  EXPECT_EQ(run_ranks(3, env, [](Rank& rank) { return run_cases(rank, {{.seed = 3}}); }), "");
  for (ReducerProcess& r : pool) EXPECT_TRUE(r.running()) << r.said();
}

TEST(Failures, StoppedWorkerIsNoticedWithinTheTimeout) {
  ReducerProcess reducer(1, {"--timeout-ms", "1000"});
  RankProcesses ranks(2, {{"FANIN_REDUCERS", reducer.address()}, {"FANIN_TIMEOUT_MS", "1000"}},
                      run_into_error);
  for (int r = 0; r < 2; r++) ASSERT_TRUE(ranks.wait_for(r, "running", milliseconds(20000)));
  kill(ranks.pid(1), SIGSTOP);
  bool noticed = false;
  auto deadline = std::chrono::steady_clock::now() + milliseconds(10000);
  // Rank 0 ends by itself; rank 1 stays stopped until it is killed.
  while (!noticed && std::chrono::steady_clock::now() < deadline)
    noticed = !ranks.wait_for(0, "never said", milliseconds(100)) && kill(ranks.pid(0), 0) != 0;
  kill(ranks.pid(1), SIGKILL);
  auto outcomes = ranks.wait(kSoon);
  EXPECT_EQ(outcomes[0].failure, "");
  ASSERT_FALSE(outcomes[0].lines.empty());
  EXPECT_TRUE(outcomes[0].lines.back().starts_with("remote: ")) << outcomes[0].lines.back();
}

TEST(Failures, SigtermDrains) {
  ReducerProcess reducer(2);
  RankProcesses::Env env = {{"FANIN_REDUCERS", reducer.address()}, {"FANIN_CONNECT_TIMEOUT_MS", "5000"}};
  int go[2];
  ASSERT_EQ(pipe(go), 0);
  Fd go_read(go[0]), go_write(go[1]);
  RankProcesses ranks(2, env, [&](Rank& rank) -> std::string {
    go_write.reset();
    CollnetRank r;
    if (std::string failure = r.connect(rank.group()); !failure.empty()) return failure;
    if (std::string failure = r.run({}); !failure.empty()) return failure;
    rank.say("running");
    char byte;
    if (::read(go_read.get(), &byte, 1) != 0) return "read";
    // The reducer has been told to stop by now.
    for (uint64_t i = 0; i < 20; i++)
      if (std::string failure = r.run({.seed = i}); !failure.empty()) return failure;
    return r.close();
  });
  for (int r = 0; r < 2; r++) ASSERT_TRUE(ranks.wait_for(r, "running", milliseconds(20000)));
  reducer.signal(SIGTERM);
  // The signal takes its time to arrive.
  ASSERT_TRUE(eventually([&] { return has(reducer.said(), "draining"); })) << reducer.said();
  // A new job is turned away with the reason, and falls back.
  RankProcesses late(2, env, [](Rank& rank) -> std::string {
    CollnetRank r;
    if (std::string failure = r.connect(rank.group(), false); !failure.empty()) return failure;
    return r.usable() ? "a draining reducer took a new session" : "";
  });
  for (const Outcome& o : late.wait(milliseconds(20000))) EXPECT_EQ(o.failure, "");
  EXPECT_TRUE(reducer.running()) << "it must serve its session to the end: " << reducer.said();
  go_write.reset();
  for (const Outcome& o : ranks.wait(milliseconds(20000))) EXPECT_EQ(o.failure, "");
  auto status = reducer.wait(kSoon);
  ASSERT_TRUE(status) << "drained but still running: " << reducer.said();
  EXPECT_TRUE(WIFEXITED(*status) && WEXITSTATUS(*status) == 0) << *status << " " << reducer.said();
}

TEST(Failures, SecondSignalEndsAtOnce) {
  ReducerProcess reducer(2);
  RankProcesses ranks(2, {{"FANIN_REDUCERS", reducer.address()}}, run_into_error);
  for (int r = 0; r < 2; r++) ASSERT_TRUE(ranks.wait_for(r, "running", milliseconds(20000)));
  reducer.signal(SIGTERM);
  EXPECT_FALSE(reducer.wait(milliseconds(200))) << "it has a session to finish";
  auto since = std::chrono::steady_clock::now();
  reducer.signal(SIGTERM);
  EXPECT_TRUE(reducer.wait(kSoon));
  expect_remote_errors(ranks.wait(milliseconds(20000)), since, -1, reducer.address());
}

}  // namespace
}  // namespace fanin::test
