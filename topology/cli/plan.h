// fanin-topo plan: what a pool of some size would be worth to some workers, from topology/sizing.h. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topology/pool_fit.h"

namespace fanin::topo {

struct PlanQuestion {
  unsigned workers = 2;              // nodes
  double worker = 0, reducer = 0;    // bits per second of one node's, one reducer's NICs together, each way
  std::optional<unsigned> reducers;  // else as many as match
  std::optional<double> price_worker, price_reducer;  // of one machine and hour, any currency
  double comm_fraction = 0;          // of a step with the ring that waits for all-reduces between nodes
  double step_s = 1;                 // that step
  uint64_t bytes = 0;                // of the all-reduce whose time is told
  uint64_t window = 0, block = 0;    // FANIN_WINDOW, --block
  unsigned lanes = 1, sessions = 1;  // of a reducer
};

// With so many reducers; 0: the ring.
struct PlanPoint {
  unsigned reducers = 0;
  double share = 0;              // the pool's bandwidth / the workers'
  double rate = 0, optimum = 0;  // algbw in bits per second; with lanes in the workers too
  double all_reduce_s = 0, step_s = 0;
  std::optional<double> cost;  // of a step, where prices are given
};

struct PlanAnswer {
  PlanQuestion asked;
  unsigned match = 0;
  std::optional<unsigned> beat;      // none: no pool does
  std::optional<unsigned> cheapest;  // 0: the ring; none without prices
  PlanPoint ring, chosen;
  std::vector<PlanPoint> points;  // 1, 2, … at least to match and chosen, in steps where that is a lot
  // Of the chosen pool.
  uint64_t memory = 0;  // a reducer's, with all sessions open
  uint64_t worker_connections = 0, reducer_connections = 0;

  PoolFit fit() const {
    return {asked.workers, asked.worker, chosen.reducers, asked.reducer * chosen.reducers};
  }
  PlanPoint at(unsigned reducers) const;
};

PlanAnswer plan(const PlanQuestion& question);

// For people, some lines; the whole answer as one JSON document.
std::string plan_text(const PlanAnswer& answer);
std::string plan_json(const PlanAnswer& answer);
// algbw against the number of reducers, with the ring, the optimum and where the pool loses.
std::string plan_svg(const PlanAnswer& answer);

}  // namespace fanin::topo
