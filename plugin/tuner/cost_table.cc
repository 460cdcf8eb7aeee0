#include "plugin/tuner/cost_table.h"

#include <algorithm>
#include <cmath>

namespace fanin::plugin::tuner {
namespace {

// NCCL's search for the least starts from here (src/enqueue.cc, topoGetAlgoInfo).
constexpr float kHour = 3600000000.0f;
// So much less or more, and apart from 0 too.
constexpr float kApart = 1e-3f;

}  // namespace

bool CostTable::available(int algorithm, int protocol) const {
  return algorithm >= 0 && algorithm < algorithms_ && protocol >= 0 && protocol < protocols_ &&
         at(algorithm, protocol) >= 0 && at(algorithm, protocol) < kHour;
}

bool CostTable::choose(int algorithm, int protocol) {
  if (!available(algorithm, protocol)) return false;
  const float chosen = at(algorithm, protocol);
  // NCCL takes the first of the least: another 0 must not stand before it.
  for (int a = 0; a < algorithms_; ++a)
    for (int p = 0; p < protocols_; ++p)
      if (available(a, p)) at(a, p) = std::max(at(a, p), kApart);
  at(algorithm, protocol) = std::min(chosen, 0.0f);
  return true;
}

float* CostTable::cheapest(bool reducers) const {
  float* least = nullptr;
  for (int a = 0; a < algorithms_; ++a)
    for (int p = 0; p < protocols_; ++p)
      if (through_reducers(a) == reducers && available(a, p) && (!least || at(a, p) < *least))
        least = &at(a, p);
  return least;
}

void CostTable::prefer_reducers() {
  float *const ours = cheapest(true), *const others = cheapest(false);
  if (!ours || !others || *ours < *others) return;
  // Nothing is less than 0.
  for (int a = 0; a < algorithms_; ++a)
    for (int p = 0; p < protocols_; ++p)
      if (!through_reducers(a) && available(a, p)) at(a, p) = std::max(at(a, p), kApart);
  *ours = *cheapest(false) * 0.9f;
}

void CostTable::prefer_others() {
  const float *const ours = cheapest(true), *const others = cheapest(false);
  if (!ours || !others || *ours > *others) return;
  const float above = std::min(*others * 1.1f + kApart, std::nextafter(kHour, 0.0f));
  for (int a = 0; a < algorithms_; ++a)
    for (int p = 0; p < protocols_; ++p)
      if (through_reducers(a) && available(a, p)) at(a, p) = std::max(at(a, p), above);
}

}  // namespace fanin::plugin::tuner
