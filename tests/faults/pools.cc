#include "tests/faults/pools.h"

namespace fanin::faults {

Pool& Pools::of(const Scenario& scenario) {
  Used& used = used_[&scenario.patience()];
  if (used.pool && used.runs == life_) {
    bad_ += used.pool->end();
    used = {};
  }
  if (!used.pool) used.pool = std::make_unique<Pool>(scenario.patience());
  ++used.runs;
  return *used.pool;
}

void Pools::discard(const Scenario& scenario) { used_.erase(&scenario.patience()); }

std::string Pools::end() {
  for (auto& [patience, used] : used_) bad_ += used.pool->end();
  used_.clear();
  return std::exchange(bad_, "");
}

}  // namespace fanin::faults
