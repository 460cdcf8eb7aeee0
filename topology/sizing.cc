#include "topology/sizing.h"

#include <algorithm>
#include <cmath>

namespace fanin::sizing {
namespace {

constexpr double kTolerance = 0.01;
// What the reducer gives a session at least (reducer/session_table.cc); a test compares.
constexpr uint64_t kMinWindowBlocks = 4;

// The fewest reducers that have so much together; rates are decimal, and 3 x 0.1 shall be 0.3.
unsigned fewest(double total, double each) {
  return static_cast<unsigned>(std::clamp(std::ceil(total / each * (1 - 1e-9)), 1.0, 1e9));
}

}  // namespace

double break_even_share(unsigned n) { return n / (2.0 * (n - 1)); }

double ring_rate(unsigned n, double worker) { return worker * break_even_share(n); }

double pool_rate(unsigned n, double worker, double pool) { return std::min(worker, pool / n); }

double optimum_rate(unsigned n, double worker, double pool) {
  const double k = std::min<double>(pool / worker, n);  // reducers as fast as a worker
  return worker * (1.0 * n * n + k * n - 2 * k) / (2.0 * n * (n - 1));
}

bool loses(unsigned n, double worker, double pool) {
  return pool_rate(n, worker, pool) < ring_rate(n, worker) * (1 - kTolerance);
}

unsigned reducers_to_match(unsigned n, double worker, double reducer) { return fewest(n * worker, reducer); }

std::optional<unsigned> reducers_to_beat_ring(unsigned n, double worker, double reducer) {
  const double ring = ring_rate(n, worker);
  if (n <= 2) return std::nullopt;
  unsigned k = fewest(n * ring, reducer);
  if (pool_rate(n, worker, k * reducer) <= ring * (1 + 1e-9)) ++k;
  return k;
}

double step_time(double fraction, double ring, double rate) { return 1 - fraction + fraction * ring / rate; }

uint64_t session_memory(unsigned n, unsigned reducers, uint64_t window, unsigned lanes, uint64_t block) {
  const uint64_t stripe = lanes * block;
  const uint64_t mine = std::max<uint64_t>(window / std::max(reducers, 1u), 1);
  const uint64_t blocks = std::max(kMinWindowBlocks, (mine + stripe - 1) / stripe);
  return lanes * (uint64_t{n} + 1) * blocks * block;
}

}  // namespace fanin::sizing
