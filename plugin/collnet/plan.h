// The session's plan: which lane reduces which slice of a message.
//
// An ordered list of lanes with weights, equal on every rank of a session. split() is a pure function of the
// plan, the message's number and its size, so all ranks agree without talking: this is what makes the sums
// right. Lanes are ordered so that neighbours belong to different reducers. Immutable; any thread.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace fanin::plugin::collnet {

// The weight of each lane of every reducer, from what the reducers shall get (empty: lanes alike) and how many lanes they
// have. Speeds in Mbit/s, or anything else in proportion.
std::vector<uint32_t> lane_weights(const std::vector<uint32_t>& reducers, const std::vector<size_t>& lanes);

class Plan {
 public:
  // Slice boundaries are multiples of this, so that no element is cut.
  static constexpr uint64_t kAlign = 64;

  // weights: one per lane, at least one lane, each at least 1. min_slice >= kAlign.
  Plan(std::vector<uint32_t> weights, uint64_t min_slice)
      : weights_(std::move(weights)), min_slice_(std::max(min_slice, kAlign)) {}

  size_t lanes() const { return weights_.size(); }
  uint64_t min_slice() const { return min_slice_; }

  // How many lanes a message of this size is spread over: no slice much below min_slice.
  size_t lanes_for(uint64_t bytes) const {
    return static_cast<size_t>(std::clamp<uint64_t>(bytes / min_slice_, 1, lanes()));
  }

  // The first of the lanes a message uses; the rest follow in order. Moves on by one with each message, so
  // that small messages load all lanes alike, and by one more each round, so that a periodic pattern of sizes
  // does too.
  size_t first_lane(uint64_t message) const { return (message + message / lanes()) % lanes(); }

  // Calls visit(lane, offset, length) for every slice of the message, in ascending order of offset. The
  // slices cover [0, bytes) without gap or overlap and none is empty. No allocation.
  template <class Visit>
  void split(uint64_t message, uint64_t bytes, Visit&& visit) const {
    const size_t first = first_lane(message), used = lanes_for(bytes);
    uint64_t total = 0;
    for (size_t i = 0; i < used; ++i) total += weight(first + i);
    uint64_t begin = 0, before = 0;
    for (size_t i = 0; i < used; ++i) {
      before += weight(first + i);
      const uint64_t end = i + 1 == used ? bytes : share(bytes, before, total);
      if (end > begin) visit((first + i) % lanes(), begin, end - begin);
      begin = end;
    }
  }

 private:
  uint32_t weight(size_t i) const { return weights_[i % lanes()]; }
  static uint64_t share(uint64_t bytes, uint64_t part, uint64_t total) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(bytes) * part / total) / kAlign * kAlign;
  }

  std::vector<uint32_t> weights_;
  uint64_t min_slice_;
};

}  // namespace fanin::plugin::collnet
