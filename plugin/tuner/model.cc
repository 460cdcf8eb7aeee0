#include "plugin/tuner/model.h"

#include <algorithm>
#include <bit>

namespace fanin::plugin::tuner {
namespace {

// What GPUs and NCCL's proxies add, of NCCL's own constants (src/graph/tuning.cc): before the first byte, and per hop.
// For CollNet per message, up and down.
constexpr double kBaseLow = 6.8, kBaseSimple = 8.4;
constexpr double kTreeHopLow = 5, kTreeHopSimple = 14, kRingHopLow = 2.7, kRingHopSimple = 14;
constexpr double kCollNet = 30;
// The LL protocol carries a flag with every word. Trees do not fill links.
constexpr double kLowBytes = 2, kTreeBytes = 1 / 0.92;

constexpr uint64_t kLargest = uint64_t{1} << 40;

}  // namespace

double reducers_us(const Shape&, const Figures& f, uint64_t bytes) {
  const double share = static_cast<double>(bytes) / f.rails;
  return kBaseSimple + kCollNet + f.chunk_us + std::max(share - kChunk, 0.0) / f.pool_rate;
}

double ring_or_tree_us(const Shape& shape, const Figures& f, uint64_t bytes) {
  const double n = static_cast<double>(shape.nodes);
  // A message to the reducers and its sum back are two hops.
  const double hop = f.small_us / 2;
  const double each_way = 2 * (n - 1) / n * (static_cast<double>(bytes) / f.rails) / f.link_rate;
  const double tree_hops = 2.0 * std::bit_width(shape.nodes - 1), ring_hops = 2 * (n - 1);
  return std::min({kBaseLow + tree_hops * (kTreeHopLow + hop) + kLowBytes * kTreeBytes * each_way,
                   kBaseSimple + tree_hops * (kTreeHopSimple + hop) + kTreeBytes * each_way,
                   kBaseLow + ring_hops * (kRingHopLow + hop) + kLowBytes * each_way,
                   kBaseSimple + ring_hops * (kRingHopSimple + hop) + each_way});
}

uint64_t crossover(const Shape& shape, const Figures& f) {
  if (shape.nodes < 2) return kNever;
  uint64_t from = kNever;
  for (uint64_t power = kLargest; power >= 4; power /= 2)
    for (const uint64_t bytes : {power, power / 4 * 3}) {
      if (reducers_us(shape, f, bytes) >= ring_or_tree_us(shape, f, bytes)) return from;
      from = bytes;
    }
  return 0;
}

}  // namespace fanin::plugin::tuner
