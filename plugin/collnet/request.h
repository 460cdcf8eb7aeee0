// One message on its way: what the caller asked for, and how many of its slices are still out.
//
// Requests are preallocated per communicator. The progress thread fills `op` and frees the request in test();
// between the two every lane reads `op` and counts `remaining` down when its slice's result is complete.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "fanin/dtype.h"

namespace fanin::plugin::collnet {

class Comm;

// Bytes [begin, end) of a message's window.
struct Range {
  uint64_t begin = 0, end = 0;
  uint64_t size() const { return end - begin; }
  bool empty() const { return end == begin; }
  // The common part; where there is none, an empty range inside *this.
  Range cut(Range o) const {
    const uint64_t b = std::clamp(o.begin, begin, end);
    return {b, std::clamp(o.end, b, end)};
  }
};

// A message in window coordinates: the whole buffer for all-reduce, [window_offset, + window_bytes) of the
// concatenation of all ranks' parts for all-gather and reduce-scatter.
struct Op {
  Coll coll = Coll::kAllReduce;
  DType dtype = DType::kI8;
  RedOp redop = RedOp::kSum;
  bool measuring = false;  // of the probe, not of NCCL: left out of CommStats
  uint64_t message = 0;
  uint64_t bytes = 0;  // of the window
  uint64_t base = 0;   // bytes of the session's messages before this one
  uint64_t bytes_per_rank = 0, window_offset = 0;
  Range own;                        // the part of the window this rank owns; the whole window for all-reduce
  const std::byte* send = nullptr;  // all-gather: start of the own part; else of the window
  std::byte* recv = nullptr;        // reduce-scatter: start of the own part; else of the window

  // What this rank sends of a range, and where it lies.
  Range sends(Range r) const { return coll == Coll::kAllGather ? r.cut(own) : r; }
  const std::byte* source(uint64_t pos) const {
    return send + (pos - (coll == Coll::kAllGather ? own.begin : 0));
  }
  // What this rank gets back of a range, and where it goes.
  Range receives(Range r) const { return coll == Coll::kReduceScatter ? r.cut(own) : r; }
  std::byte* target(uint64_t pos) const {
    return recv + (pos - (coll == Coll::kReduceScatter ? own.begin : 0));
  }
};

class Request {
 public:
  Comm* comm = nullptr;
  Op op;
  std::chrono::steady_clock::time_point posted{};
  std::atomic<uint32_t> remaining{0};  // slices without complete result, + 1 while being posted

  // The memory op touches, for deregistration on another thread: set before remaining.
  void set_memory() {
    const Range all{0, op.bytes};
    const auto s = reinterpret_cast<uintptr_t>(op.send), r = reinterpret_cast<uintptr_t>(op.recv);
    memory_[0].store(s, std::memory_order_relaxed);
    memory_[1].store(s + op.sends(all).size(), std::memory_order_relaxed);
    memory_[2].store(r, std::memory_order_relaxed);
    memory_[3].store(r + op.receives(all).size(), std::memory_order_relaxed);
  }
  // In flight, with a byte in [begin, end).
  bool uses(uintptr_t begin, uintptr_t end) const {
    if (remaining.load(std::memory_order_acquire) == 0) return false;
    auto at = [&](int i) { return memory_[i].load(std::memory_order_relaxed); };
    return std::max(begin, at(0)) < std::min(end, at(1)) || std::max(begin, at(2)) < std::min(end, at(3));
  }

 private:
  std::atomic<uintptr_t> memory_[4] = {};
};

}  // namespace fanin::plugin::collnet
