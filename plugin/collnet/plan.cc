#include "plugin/collnet/plan.h"

#include <numeric>

namespace fanin::plugin::collnet {

std::vector<uint32_t> lane_weights(const std::vector<uint32_t>& reducers, const std::vector<size_t>& lanes) {
  std::vector<uint32_t> out(lanes.size(), 1);
  if (reducers.size() != lanes.size()) return out;
  constexpr uint64_t kFraction =
      1 << 8;  // most reducers have fewer lanes: nothing is lost to rounding that counts
  uint64_t common = 0, largest = 0;
  std::vector<uint64_t> exact;
  for (size_t i = 0; i < lanes.size(); ++i) {
    exact.push_back(std::max<uint64_t>(reducers[i] * kFraction / std::max<size_t>(lanes[i], 1), 1));
    common = std::gcd(common, exact.back());
    largest = std::max(largest, exact.back());
  }
  // Sums of all lanes' weights stay far below 64 bits, and each within 32.
  while (largest / common > UINT32_MAX) common *= 2;
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<uint32_t>(std::max<uint64_t>(exact[i] / common, 1));
  return out;
}

}  // namespace fanin::plugin::collnet
