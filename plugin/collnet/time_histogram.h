// How long messages took: counts in buckets that are an eighth of their size wide, from nanoseconds to minutes, in constant
// memory and with a few instructions a message. One thread.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace fanin::plugin::collnet {

class TimeHistogram {
 public:
  using Duration = std::chrono::nanoseconds;

  void add(Duration d) {
    const uint64_t ns = d.count() > 0 ? static_cast<uint64_t>(d.count()) : 0;
    ++buckets_[std::min(bucket(ns), buckets_.size() - 1)];
    ++count_;
    sum_ += ns;
    most_ = std::max(most_, ns);
  }
  uint64_t count() const { return count_; }
  Duration mean() const { return Duration(count_ > 0 ? sum_ / count_ : 0); }
  Duration most() const { return Duration(most_); }
  // The time that the given share of messages took at most (0.99: p99): the end of its bucket, so at most an eighth too
  // much, and never more than most().
  Duration quantile(double share) const {
    const auto wanted = static_cast<uint64_t>(share * static_cast<double>(count_) + 0.999999);
    uint64_t seen = 0;
    for (size_t b = 0; b < buckets_.size(); ++b)
      if ((seen += buckets_[b]) >= std::max<uint64_t>(wanted, 1)) return Duration(std::min(end_of(b), most_));
    return Duration(0);
  }

 private:
  // 0 … 15 have a bucket each; from there on eight to a power of two.
  static constexpr size_t kBuckets = 16 + 8 * 38;
  static size_t bucket(uint64_t ns) {
    if (ns < 16) return ns;
    const auto power = static_cast<size_t>(std::bit_width(ns)) - 1;  // >= 4
    return 16 + (power - 4) * 8 + ((ns >> (power - 3)) & 7);
  }
  // The largest value in it.
  static uint64_t end_of(size_t b) {
    if (b < 16) return b;
    const size_t power = 4 + (b - 16) / 8, eighth = (b - 16) % 8;
    return ((8 + eighth + 1) << (power - 3)) - 1;
  }
  std::array<uint64_t, kBuckets> buckets_{};
  uint64_t count_ = 0, sum_ = 0, most_ = 0;
};

}  // namespace fanin::plugin::collnet
