// When the reducers are faster than what NCCL would use instead: a small model of one all-reduce, and the size from
// which on it says so.
//
// Pure functions of their arguments, with no state and no clock: all ranks that put in the same figures get the same size
// to the bit. Times in microseconds, rates in bytes per microsecond (MB/s).
#pragma once
#include <cstdint>

namespace fanin::plugin::tuner {

struct Shape {
  uint64_t nodes = 1, ranks = 1;
};

// How fast a communicator's sockets and pool are. All ranks of a communicator must use the same figures.
struct Figures {
  double small_us = 60;     // from a message of a few bytes posted to its sum received, over one rail
  double chunk_us = 150;    // the same for the least NCCL's CollNet sends, kChunk
  double pool_rate = 1100;  // size / time of large messages through the reducers, per rail
  double link_rate = 1100;  // what a node's NIC carries in each direction
  uint32_t rails = 1;       // NICs of a node that share a message
  bool operator==(const Figures&) const = default;
};
// What is assumed where nothing is measured: a pool with the workers' bandwidth together, links of 10 Gbit/s.
inline constexpr Figures kAssumed{};

// A message of NCCL's CollNet is whole chunks of at least this many bytes.
inline constexpr uint64_t kChunk = 32 << 10;
inline constexpr uint64_t kNever = UINT64_MAX;

// Of an all-reduce of so many bytes on every rank.
double reducers_us(const Shape& shape, const Figures& figures, uint64_t bytes);
double ring_or_tree_us(const Shape& shape, const Figures& figures, uint64_t bytes);

// From this size on, and for all sizes above, the reducers are faster; 0: always; kNever. Powers of two, and the
// middles between them. At least two nodes, else kNever.
uint64_t crossover(const Shape& shape, const Figures& figures);

}  // namespace fanin::plugin::tuner
