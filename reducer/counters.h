// What one lane counts. Written by the lane's thread only, read by any: relaxed atomics on a cache line of
// their own.
#pragma once
#include <atomic>
#include <cstdint>

namespace fanin::reducer {

struct alignas(64) LaneCounters {
  std::atomic<uint64_t> bytes_in{0}, bytes_out{0};  // payload
  std::atomic<uint64_t> bytes_reduced{0};           // results made by summing
  std::atomic<uint64_t> slices{0};                  // completed
  std::atomic<uint64_t> aborted{0};                 // lane-sessions that ended in an abort
};

// Single writer: no locked instruction needed.
inline void count(std::atomic<uint64_t>& counter, uint64_t n) {
  counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

}  // namespace fanin::reducer
