#include "tests/faults/trial.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "tests/faults/board.h"
#include "tests/faults/culprit.h"
#include "tests/faults/injector.h"
#include "tests/faults/stage.h"
#include "tests/faults/worker.h"

namespace fanin::faults {
namespace {

using Clock = std::chrono::steady_clock;
using test::Outcome;
using test::RankProcesses;

class Trial {
 public:
  Trial(const Scenario& s, Network& network, Pool& pool)
      : s_(s),
        network_(network),
        pool_(pool),
        stage_(s_, pool, behind_links() ? Network::kHost : "127.0.0.1") {
    f_.scenario = s;
  }

  Findings run() {
    stage_.begin(f_);
    run_job();
    stage_.finish(f_);
    return std::move(f_);
  }

 private:
  bool behind_links() const { return facts(s_.kind).links; }

  void run_job() {
    SharedBoard board;
    WorkerTask task;
    task.scenario = s_;
    task.ports = stage_.ports();
    if (behind_links()) task.enter = [this](int rank) { network_.enter(rank); };
    std::unique_ptr<RankProcesses> ranks;
    Injector injector(
        s_, &network_, pool_, stage_.relay(), [&](int number) { kill(ranks->pid(s_.victim), number); },
        [&](uint32_t order) { board->order[s_.victim] = order; });
    injector.prepare();
    RankProcesses::Env env = stage_.environment();
    env["NCCL_SOCKET_IFNAME"] = behind_links() ? "=eth0" : "=lo";
    ranks = std::make_unique<RankProcesses>(s_.nranks, env, worker(task, *board));
    if (!await_moment(*ranks, *board)) {
      f_.note("the job did not come as far as the fault");
    } else {
      std::this_thread::sleep_for(s_.wait);
    }
    const Clock::time_point struck = Clock::now();
    injector.strike();
    const KindFacts& kind = facts(s_.kind);
    if (!kind.disturbs) {
      std::this_thread::sleep_for(s_.lasts);
      f_.struck = injector.struck();
      injector.undo();
      f_.overran = Clock::now() - struck > kPasses;
    } else {
      const auto aftermath = Clock::now() + kAftermath;
      for (int r = 0; r < s_.nranks; ++r)
        (void)ranks->wait_end(r, std::chrono::ceil<milliseconds>(aftermath - Clock::now()));
      f_.struck = injector.struck();
    }
    const bool told_after = !board->stop;
    board->stop = true;
    // A rank stopped before it connects keeps the others at the exchange of handles, which is not ours to bound.
    const milliseconds stopped = s_.kind == Kind::kStopWorker ? 2 * kConnectTimeout : s_.patience().hang;
    for (int r = 0; r < s_.nranks; ++r)
      if (r != s_.victim || s_.kind != Kind::kStopWorker) (void)ranks->wait_end(r, stopped);
    if (kind.disturbs) injector.undo();
    judge(ranks->wait(s_.patience().hang), struck, told_after);
  }

  bool await_moment(RankProcesses& ranks, Board& board) {
    auto all_say = [&](const char* line) {
      for (int r = 0; r < s_.nranks; ++r)
        if (!ranks.wait_for(r, line, kStartPatience)) return false;
      return true;
    };
    if (s_.moment == Moment::kConnect) return all_say("connecting");
    if (!all_say("running")) return false;
    if (s_.moment == Moment::kRun) return true;
    board.stop = true;
    return ranks.wait_for(0, "closing", kStartPatience);
  }

  // No verdict of their own is asked of ranks that the fault ends.
  bool exempt(int rank) const {
    return rank == s_.victim &&
           (s_.kind == Kind::kKillWorker || s_.kind == Kind::kExitWorker || s_.kind == Kind::kAbortWorker);
  }

  // A process that is gone while the job runs is named by everybody.
  bool must_name() const {
    return s_.moment == Moment::kRun && (s_.kind == Kind::kKillWorker || s_.kind == Kind::kKillReducer);
  }

  void judge(const std::vector<Outcome>& outcomes, Clock::time_point struck, bool told_after) {
    int right = 0, ring = 0, joined = 0;
    const Culprit culprit(s_, stage_.reducers());
    for (int r = 0; r < s_.nranks; ++r) {
      const Outcome& o = outcomes[static_cast<size_t>(r)];
      const std::string who = "rank " + std::to_string(r);
      f_.story += who + ": " + o.failure + "\n";
      for (const std::string& line : o.lines) f_.story += "  " + line + "\n";
      joined += std::find(o.lines.begin(), o.lines.end(), "reducers") != o.lines.end();
      if (exempt(r) && (o.failure.empty() || o.failure == "killed by signal 9")) continue;
      if (!o.failure.empty())
        f_.note((o.failure == "still running" ? "HANG: " : "") + who + ": " + o.failure);
      const std::string verdict = o.lines.empty() ? "" : o.lines.back();
      right += verdict.starts_with("right");
      ring += verdict == "fallback";
      if (!verdict.starts_with("error: ")) continue;
      ++f_.errors;
      f_.noticed_s = std::max(f_.noticed_s, std::chrono::duration<double>(o.ended - struck).count());
      const bool named = culprit.named_in(verdict);
      f_.named += named;
      if (must_name() && !named) f_.note("WRONG NAME: " + who + ": " + verdict);
      if (!culprit.anyone_named_in(verdict, r)) f_.note("NAMELESS: " + who + ": " + verdict);
    }
    if (s_.visible() && f_.noticed_s > seconds(test::kSoon))
      f_.note("LATE: the last rank ended after " + std::to_string(f_.noticed_s) + " s");
    const int kinds = (right > 0) + (ring > 0) + (f_.errors > 0);
    f_.end = kinds > 1 ? "mixed" : right > 0 ? "right" : ring > 0 ? "ring" : f_.errors > 0 ? "error" : "none";
    if (joined > 0 && ring > 0) f_.note("PARTIAL VERDICT: some ranks use reducers, some the ring");
    const bool drained = s_.kind == Kind::kDrainReducer && s_.moment == Moment::kConnect;
    if (!facts(s_.kind).disturbs && f_.lost() && !(drained && f_.end == "ring"))
      f_.note("LOST: a disturbance that passes ended the job: " + f_.end);
    if (facts(s_.kind).disturbs && s_.moment == Moment::kRun && f_.struck && told_after && right > 0)
      f_.note("IMPOSSIBLE: a rank ended right after its job was hit");
  }

  const Scenario s_;
  Network& network_;
  Pool& pool_;
  Stage stage_;
  Findings f_;
};

}  // namespace

Findings try_job(const Scenario& scenario, Network& network, Pool& pool) {
  return Trial(scenario, network, pool).run();
}

}  // namespace fanin::faults
