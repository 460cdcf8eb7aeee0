#include "tests/faults/bystander.h"

#include "tests/faults/findings.h"
#include "tests/support/footprint.h"

namespace fanin::faults {
namespace {

constexpr int kRanks = 2;
constexpr uint32_t kMoreRounds = 3;
constexpr milliseconds kPatience{10000};

}  // namespace

WorkerTask Bystander::task(uint16_t port) {
  WorkerTask t;
  t.scenario.nranks = kRanks;
  t.scenario.bytes = 96 << 10;
  t.pace = milliseconds(4);
  t.ports = {port};
  return t;
}

Bystander::Bystander(uint16_t port) : task_(task(port)) {
  ranks_ = std::make_unique<test::RankProcesses>(
      kRanks,
      test::RankProcesses::Env{{"FANIN_REDUCERS", "127.0.0.1:" + std::to_string(port)},
                               {"NCCL_SOCKET_IFNAME", "=lo"}},
      worker(task_, *board_));
}

bool Bystander::runs() {
  for (int r = 0; r < kRanks; ++r)
    if (!ranks_->wait_for(r, "running", kStartPatience)) return false;
  return true;
}

std::string Bystander::finish() {
  const uint32_t now = board_->round[0];
  const bool went_on = test::within(kPatience, [&] { return board_->round[0] >= now + kMoreRounds; });
  board_->stop = true;
  std::string bad = went_on ? "" : "BYSTANDER: it does not go on; ";
  for (const test::Outcome& o : ranks_->wait(kPatience))
    if (!o.failure.empty() || o.lines.empty() || !o.lines.back().starts_with("right"))
      bad += "BYSTANDER: " + o.failure + (o.lines.empty() ? "" : " " + o.lines.back()) + "; ";
  return bad;
}

}  // namespace fanin::faults
