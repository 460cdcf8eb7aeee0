#include "tests/faults/pool.h"

#include <signal.h>
#include <sys/prctl.h>

#include "ctl/snapshot.h"
#include "reducer/http/client.h"
#include "tests/faults/findings.h"
#include "tests/support/status_of.h"

namespace fanin::faults {
namespace {

// An aborted session's connections are read to their end for five seconds at most.
constexpr milliseconds kSettle{8000};
constexpr milliseconds kAnswer{2000}, kEnd{20000};
// What an honest reducer grows by: some 100 KiB in the first runs, then less than 20 in hundreds. Three sessions of every run
// are on the first reducer, so that 4 KiB kept of each are found after 22 runs.
constexpr size_t kSettledAfter = 5;  // runs
#if defined(FANIN_ASAN)
constexpr size_t kGrowthKib =
    300 << 10;  // it keeps 256 MiB of what was freed, and finds leaks itself (end())
#elif defined(FANIN_TSAN)
constexpr size_t kGrowthKib = 16 << 10;  // its shadow
#else
constexpr size_t kGrowthKib = 256;
#endif

}  // namespace

Pool::Pool(const Patience& patience) : timeout_(patience.reducer) {
  for (size_t i = 0; i < kReducers; ++i) {
    ports_.push_back(held_.emplace_back(tcp::Address::any(AF_INET, 0)).address().port());
    reducers_.push_back(start(i));
  }
}

Pool::Reducer Pool::start(size_t i) const {
  prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);  // huge pages would hide what grows; the reducer inherits it
  Reducer r;
  r.process = std::make_unique<test::ReducerProcess>(
      kLanes,
      std::vector<std::string>{"--listen", "0.0.0.0:" + std::to_string(ports_[i]), "--metrics", "127.0.0.1:0",
                               "--memory", "256M", "--timeout-ms", std::to_string(timeout_.count())});
  prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
  auto told = [&] {
    r.status = test::address_after(r.process->said(), "status at http://");
    return r.status.port() != 0;
  };
  (void)test::within(kStartPatience, told);
  r.idle = test::Footprint::of(r.process->pid());
  return r;
}

std::string Pool::list(const std::string& host) const {
  std::string text;
  for (uint16_t port : ports_) text += (text.empty() ? "" : ",") + host + ":" + std::to_string(port);
  return text;
}

void Pool::revive() {
  for (size_t i = 0; i < reducers_.size(); ++i)
    if (!reducers_[i].process->running()) {
      reducers_[i].process.reset();
      reducers_[i] = start(i);
    }
}

std::string Pool::Reducer::held() const {
  const test::Footprint now = test::Footprint::of(process->pid());
  if (!now.within(idle)) return now.text() + ", idle it had " + idle.text();
  const auto answer = reducer::http::ask(status, "GET", "/sessions", Deadline::after(kAnswer));
  if (!answer) return "no answer from its status port: " + answer.error().text();
  const auto seen = ctl::parse_snapshot(answer->body);
  if (!seen) return "a status that is none: " + answer->body;
  if (seen->sessions.empty() && seen->memory_used == 0) return "";
  return answer->body;
}

std::string Pool::leaks() {
  std::string text;
  for (size_t i = 0; i < reducers_.size(); ++i) {
    std::string held;
    if (!test::within(kSettle, [&] { return (held = reducers_[i].held()).empty(); }))
      text += "LEAK: reducer " + std::to_string(i) + " has " + held + "; ";
  }
  return text;
}

std::string Pool::growth() {
  std::string text;
  for (size_t i = 0; i < reducers_.size(); ++i) {
    Reducer& r = reducers_[i];
    const size_t now = test::anonymous_kib(r.process->pid());
    if (++r.looks == kSettledAfter) r.settled_kib = now;
    if (r.looks > kSettledAfter && now > r.settled_kib + kGrowthKib)
      text += "LEAK: reducer " + std::to_string(i) + " grew from " + std::to_string(r.settled_kib) + " to " +
              std::to_string(now) + " KiB in " + std::to_string(r.looks - kSettledAfter) + " runs; ";
  }
  return text;
}

std::string Pool::end() {
  for (Reducer& r : reducers_) r.process->signal(SIGTERM);
  std::string text;
  for (size_t i = 0; i < reducers_.size(); ++i) {
    const auto status = reducers_[i].process->wait(kEnd);
    if (status == 0) continue;
    text += (status ? "LEAK or worse: reducer " + std::to_string(i) + " ended with wait status " +
                          std::to_string(*status)
                    : "HANG: reducer " + std::to_string(i) + " does not end at SIGTERM") +
            ": " + reducers_[i].process->said() + "; ";
  }
  return text;
}

std::string Pool::story() const {
  std::string text;
  for (size_t i = 0; i < reducers_.size(); ++i) {
    std::string said = reducers_[i].process->said();
    if (said.size() > 3000) said = "…" + said.substr(said.size() - 3000);
    text += "reducer " + std::to_string(i) + " at port " + std::to_string(ports_[i]) + ":\n" + said;
  }
  return text;
}

}  // namespace fanin::faults
