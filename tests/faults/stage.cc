#include "tests/faults/stage.h"

#include <cstdlib>

#include "tests/support/collnet_rank.h"
#include "tests/support/footprint.h"

namespace fanin::faults {

Stage::Stage(const Scenario& scenario, Pool& pool, std::string host)
    : s_(scenario),
      pool_(pool),
      host_(std::move(host)),
      segments_(test::shared_segments()),
      ports_(test::listening_ports()) {
  if (s_.proxied) relay_ = std::make_unique<Relay>(pool_.ports());
}

void Stage::begin(Findings& f) {
  bystander_ = std::make_unique<Bystander>(pool_.ports()[0]);
  if (!bystander_->runs()) f.note("BYSTANDER: it did not start");
}

std::string Stage::reducers() const { return relay_ ? relay_->list() : pool_.list(host_); }

std::map<std::string, std::string> Stage::environment() const {
  std::map<std::string, std::string> env = {
      {"FANIN_REDUCERS", reducers()},
      {"FANIN_TIMEOUT_MS", std::to_string(s_.patience().worker.count())},
      {"FANIN_CONNECT_TIMEOUT_MS", std::to_string(kConnectTimeout.count())}};
  for (const char* name : {"FANIN_SECRET", "FANIN_SECRET_FILE", "FANIN_CHECKSUM"})
    if (const char* value = getenv(name)) env[name] = value;
  return env;
}

void Stage::finish(Findings& f) {
  check_reducers(f);
  f.note(bystander_->finish());
  f.note(next_job());
  relay_.reset();
  f.note(pool_.leaks());
  f.note(pool_.growth());
  if (test::shared_segments() > segments_) f.note("LEAK: segments in /dev/shm");
  if (test::listening_ports() > ports_) f.note("LEAK: listening ports");
  if (!f.bad.empty()) f.story += pool_.story();
}

// Those that were hit may be gone; the others may not.
void Stage::check_reducers(Findings& f) {
  if (s_.kind == Kind::kDrainReducer) {
    auto status = pool_.last().wait(milliseconds(10000));
    if (!status) f.note("HANG: the drained reducer does not end");
    if (status && *status != 0)
      f.note("DIED: the drained reducer ended with status " + std::to_string(*status));
  }
  // Else it would be found dead in the next run.
  if (s_.kind == Kind::kKillReducer && f.struck && !pool_.last().wait(milliseconds(10000)))
    f.note("HANG: the killed reducer does not end");
  const bool taken = s_.kind == Kind::kKillReducer || s_.kind == Kind::kDrainReducer;
  for (size_t i = 0; i < pool_.size(); ++i)
    if (!pool_[i].running() && !(taken && i + 1 == pool_.size()))
      f.note("DIED: reducer " + std::to_string(i));
  if (!f.bad.empty()) f.story += pool_.story();
  pool_.revive();
}

// The same way to the pool, as good as new.
std::string Stage::next_job() const {
  auto env = environment();
  if (!relay_) env["FANIN_REDUCERS"] = pool_.list("127.0.0.1");
  env["NCCL_SOCKET_IFNAME"] = "=lo";
  std::string failures = test::run_ranks(2, env, [&](test::Rank& rank) {
    return test::run_cases(rank, {{.bytes = 200'000, .seed = s_.seed % 1000}});
  });
  return failures.empty() ? "" : "NEXT JOB: " + failures;
}

}  // namespace fanin::faults
