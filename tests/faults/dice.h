// Pseudo-random draws that are the same on every machine and compiler, so that a seed names a run. Plain value.
#pragma once
#include <cmath>
#include <cstdint>

namespace fanin::faults {

class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 1) {}
  // splitmix64.
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t n) { return next() % n; }  // n > 0
  uint64_t between(uint64_t low, uint64_t high) { return low + below(high - low + 1); }
  bool chance(unsigned percent) { return below(100) < percent; }
  // As likely in each octave: short times and small sizes as often as long and large ones.
  uint64_t octaves(uint64_t low, uint64_t high) {
    double span = std::log2(static_cast<double>(high) / static_cast<double>(low));
    double draw = static_cast<double>(next() >> 11) * 0x1p-53;
    return static_cast<uint64_t>(static_cast<double>(low) * std::exp2(span * draw));
  }

 private:
  uint64_t state_;
};

}  // namespace fanin::faults
