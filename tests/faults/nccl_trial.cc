#include "tests/faults/nccl_trial.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <thread>

#include "tests/faults/child.h"
#include "tests/faults/culprit.h"
#include "tests/faults/injector.h"
#include "tests/faults/stage.h"
#include "tests/support/footprint.h"

namespace fanin::faults {
namespace {

using Clock = std::chrono::steady_clock;

constexpr milliseconds kNcclStart{60000};
constexpr int kConnectStretch = 15;  // NCCL takes that much longer from its start to the end of connecting

class NcclTrial {
 public:
  NcclTrial(const Scenario& s, Pool& pool) : s_(s), pool_(pool), stage_(s_, pool, "127.0.0.1") {
    f_.scenario = s;
  }

  Findings run() {
    stage_.begin(f_);
    run_job();
    stage_.finish(f_);
    return std::move(f_);
  }

 private:
  void run_job() {
    Network* const no_links = nullptr;
    Injector injector(
        s_, no_links, pool_, stage_.relay(), [&](int number) { signal_victim(number); }, [](uint32_t) {});
    injector.prepare();
    start();
    if (s_.moment == Moment::kConnect)
      std::this_thread::sleep_for(s_.wait * kConnectStretch);
    else if (!await("running"))
      f_.note("the job did not come as far as the fault");
    if (s_.moment == Moment::kClose) stop();
    if (s_.moment != Moment::kConnect) std::this_thread::sleep_for(s_.wait);
    const Clock::time_point struck = Clock::now();
    injector.strike();
    const bool disturbs = facts(s_.kind).disturbs;
    if (!disturbs) {
      std::this_thread::sleep_for(s_.lasts);
      f_.struck = injector.struck();
      injector.undo();
      f_.overran = Clock::now() - struck > kPasses;
    } else {
      (void)job_->wait(kAftermath);
    }
    // Where the fault may have come before NCCL connected, the job is to work before it is ended.
    auto under_way = [&] {
      return count("running") + count("error") >= s_.nranks || job_->wait(milliseconds(0));
    };
    if (s_.moment == Moment::kConnect && !test::within(kNcclStart, under_way))
      f_.note("HANG: the job does not come to run");
    if (disturbs) f_.struck = injector.struck();
    stop();
    if (s_.kind == Kind::kStopWorker)
      (void)test::within(s_.patience().hang, [&] { return ended() >= s_.nranks - 1; });
    if (disturbs && s_.kind != Kind::kStopReducer && !facts(s_.kind).proxied) injector.undo();
    const auto status = job_->wait(s_.patience().hang);
    f_.noticed_s = std::chrono::duration<double>(Clock::now() - struck).count();
    injector.undo();
    judge(status);
  }

  void start() {
    auto env = stage_.environment();
    env["NCCL_SOCKET_IFNAME"] = "=lo";
    env["NCCL_NET_PLUGIN"] = test::built("lib/libnccl-net-fanin.so");
    env["NCCL_COLLNET_ENABLE"] = "1";
    env["NCCL_DEBUG"] = "WARN";
    env["NCCL_BUFFSIZE"] = "1048576";
    env["NCCL_MAX_NCHANNELS"] = "2";
    env["NCCL_LL_BUFFSIZE"] = env["NCCL_LL128_BUFFSIZE"] = "65536";
    // Where there may be no reducers in the end, NCCL must be free to use the ring.
    if (s_.moment != Moment::kConnect) env["NCCL_ALGO"] = s_.channels == 1 ? "CollnetChain" : "CollnetDirect";
    const std::string bytes = std::to_string(std::max<size_t>(s_.bytes, 1024));
    job_ = std::make_unique<Child>(
        std::vector<std::string>{test::built("cpudev/nccl-ranks"), "-n", std::to_string(s_.nranks), "-b",
                                 bytes, "-e", bytes, "-x", "endure"},
        env);
  }

  // Every rank has said so, or the job has ended.
  bool await(const std::string& word) {
    auto said = [&] { return count(word) >= s_.nranks || job_->wait(milliseconds(0)); };
    return test::within(kNcclStart, said) && count(word) >= s_.nranks;
  }
  // Ranks whose lines end so.
  int count(const std::string& word) const {
    std::istringstream lines(job_->said());
    int n = 0;
    for (std::string line; std::getline(lines, line);)
      n += line.starts_with("rank ") && line.find(": " + word) != line.npos;
    return n;
  }
  int ended() const { return count("right") + count("error"); }
  void stop() { kill(job_->pid(), SIGUSR1); }

  void signal_victim(int number) {
    const std::string said = job_->said(), who = "rank " + std::to_string(s_.victim) + ": pid ";
    const size_t at = said.find(who);
    if (at != std::string::npos) kill(atoi(said.c_str() + at + who.size()), number);
  }

  void judge(const std::optional<int>& status) {
    const std::string said = job_->said();
    f_.story += said;
    const int survivors = s_.nranks - (s_.kind == Kind::kKillWorker);
    const int right = count("right"), errors = count("error 6");
    if (!status) f_.note("HANG: nccl-ranks does not end");
    if (count("HUNG") > 0) f_.note("HANG: a rank got neither results nor an error");
    if (said.find("WRONG") != std::string::npos) f_.note("WRONG RESULT");
    if (status && *status != 0) f_.note("nccl-ranks ended with wait status " + std::to_string(*status));
    if (right + errors < survivors)
      f_.note("only " + std::to_string(right + errors) + " ranks said how they ended");
    f_.errors = errors;
    f_.end = right > 0 && errors > 0 ? "mixed" : right > 0 ? "right" : errors > 0 ? "error" : "none";
    if (errors == 0) f_.noticed_s = 0;
    // NCCL's own connecting and ending are in it.
    if (s_.visible() && s_.moment != Moment::kConnect && f_.noticed_s > 2 * seconds(test::kSoon))
      f_.note("LATE: the last rank ended after " + std::to_string(f_.noticed_s) + " s");
    const Culprit culprit(s_, stage_.reducers());
    std::istringstream lines(said);
    int naming = 0;
    for (std::string line; std::getline(lines, line);)
      if (line.find(" lost: rank") != line.npos) {
        f_.named += culprit.named_in(line);
        naming += culprit.anyone_named_in(line, -1);
      }
    if (naming < errors) f_.note("NAMELESS: a rank's log names nobody");
    if (!facts(s_.kind).disturbs && f_.lost())
      f_.note("LOST: a disturbance that passes ended the job: " + f_.end);
  }

  const Scenario s_;
  Pool& pool_;
  Stage stage_;
  std::unique_ptr<Child> job_;
  Findings f_;
};

}  // namespace

bool nccl_built() { return access(test::built("cpudev/nccl-ranks").c_str(), X_OK) == 0; }

bool nccl_allows(const Scenario& s) { return s.moment != Moment::kConnect || !s.has_rank_victim(); }

Findings try_nccl(const Scenario& scenario, Pool& pool) { return NcclTrial(scenario, pool).run(); }

}  // namespace fanin::faults
