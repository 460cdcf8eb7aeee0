#include "topology/cli/plan.h"

#include <algorithm>

#include "topology/sizing.h"

namespace fanin::topo {
namespace {

constexpr unsigned kMostPoints = 400;
constexpr double kSecondsPerHour = 3600;

}  // namespace

PlanPoint PlanAnswer::at(unsigned reducers) const {
  const PlanQuestion& q = asked;
  const double pool = q.reducer * reducers;
  const double ring_rate = sizing::ring_rate(q.workers, q.worker);
  PlanPoint p;
  p.reducers = reducers;
  p.share = pool / (q.worker * q.workers);
  p.rate = reducers == 0 ? ring_rate : sizing::pool_rate(q.workers, q.worker, pool);
  p.optimum = sizing::optimum_rate(q.workers, q.worker, pool);
  p.all_reduce_s = static_cast<double>(q.bytes) * 8 / p.rate;
  p.step_s = q.step_s * sizing::step_time(q.comm_fraction, ring_rate, p.rate);
  if (q.price_worker && q.price_reducer)
    p.cost = (q.workers * *q.price_worker + reducers * *q.price_reducer) * p.step_s / kSecondsPerHour;
  return p;
}

PlanAnswer plan(const PlanQuestion& q) {
  PlanAnswer a;
  a.asked = q;
  a.match = sizing::reducers_to_match(q.workers, q.worker, q.reducer);
  a.beat = sizing::reducers_to_beat_ring(q.workers, q.worker, q.reducer);
  a.ring = a.at(0);
  a.chosen = a.at(q.reducers.value_or(a.match));
  const unsigned last = std::max(a.match + a.match / 4 + 1, a.chosen.reducers);
  const unsigned step = std::max(1u, last / kMostPoints);
  for (unsigned k = 1; k <= last; k += step) a.points.push_back(a.at(k));
  if (a.ring.cost) {
    // More than match cost more and are no faster.
    a.cheapest = 0;
    double least = *a.ring.cost;
    for (unsigned k = 1; k <= a.match; ++k)
      if (const double cost = *a.at(k).cost; cost < least) least = cost, a.cheapest = k;
  }
  a.memory = q.sessions * sizing::session_memory(q.workers, a.chosen.reducers, q.window, q.lanes, q.block);
  a.worker_connections = uint64_t{q.sessions} * a.chosen.reducers * q.lanes;
  a.reducer_connections = uint64_t{q.sessions} * q.workers * q.lanes;
  return a;
}

}  // namespace fanin::topo
