// How large a pool must be: the arithmetic of links, in one place for fanin-topo, the plugin and whoever asks.
//
// n workers with links of `worker` bits per second each way, a pool whose reducers have `pool` together. An all-reduce of
// S bits passes every worker's link once in each direction, and the pool's n times; with a ring it passes every worker's
// link 2(n-1)/n times. Rates are S / time ("algbw") at the limit of the links; headers, latency and cores come on top,
// for both alike. n is at least 2, rates are above 0. Pure functions.
#pragma once
#include <cstdint>
#include <optional>

namespace fanin::sizing {

double ring_rate(unsigned n, double worker);
double pool_rate(unsigned n, double worker, double pool);
// What this pool would carry if every worker summed a part of each message too, shares chosen best (BytePS, OSDI 2020,
// theorem 1). A bound: fanin's workers do not sum yet.
double optimum_rate(unsigned n, double worker, double pool);

// The part of the workers' bandwidth below which a pool is slower than their ring: n/(2(n-1)); 1 for n = 2.
double break_even_share(unsigned n);
// The pool is slower than the workers' ring by more than what rounding and imprecise link speeds explain (1 %).
bool loses(unsigned n, double worker, double pool);

// Reducers of `reducer` bits per second whose bandwidth together is the workers'.
unsigned reducers_to_match(unsigned n, double worker, double reducer);
// The fewest that are faster than the ring; none for two workers, whose ring loads their links no more than a pool.
std::optional<unsigned> reducers_to_beat_ring(unsigned n, double worker, double reducer);

// A step that takes 1 with the ring, `fraction` of it in all-reduces between nodes that nothing hides.
double step_time(double fraction, double ring, double rate);

// What one session takes of a reducer's --memory: every rank's window and the results', in whole blocks on each lane.
// window: FANIN_WINDOW, shared out over the reducers.
uint64_t session_memory(unsigned n, unsigned reducers, uint64_t window, unsigned lanes, uint64_t block);

}  // namespace fanin::sizing
