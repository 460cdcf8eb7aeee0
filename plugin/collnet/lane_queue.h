// The slices of one lane, from posted to received: a ring with one writer and two readers.
//
// The progress thread posts; whoever holds the lane's send token sends; the lane's I/O thread receives. A
// slot is free again once its result is complete. Requests bound how many slices can be out, so the ring is
// never full. Blocks are counted over the whole life of the lane, which is what the window is measured in.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>

#include "plugin/collnet/request.h"

namespace fanin::plugin::collnet {

inline constexpr uint32_t kMaxRequests = 256;  // per communicator; a power of two

struct Slice {
  Request* request = nullptr;
  Range range;  // of the message's window; never empty
  // Of the request, copied by post(): the request may be done, and another's, while its last bytes are being accounted for.
  Range payload = {};              // what this rank sends of the range
  uint64_t base = 0, message = 0;  // bytes of the session before the message, and of the message

  uint64_t blocks(uint64_t block_bytes) const { return (range.size() + block_bytes - 1) / block_bytes; }
  Range block(uint64_t i, uint64_t block_bytes) const {
    const uint64_t begin = range.begin + i * block_bytes;
    return {begin, std::min(begin + block_bytes, range.end)};
  }
};

class LaneQueue {
 public:
  // Progress thread. seq_cst orders this before the look at the I/O thread's "asleep" flag.
  void post(const Slice& slice) {
    const uint32_t n = posted_.load(std::memory_order_relaxed);
    Slice& s = ring_[n % kMaxRequests];
    s = slice;
    s.payload = s.request->op.sends(s.range);
    s.base = s.request->op.base;
    s.message = s.request->op.bytes;
    posted_.store(n + 1, std::memory_order_seq_cst);
  }
  const Slice& at(uint32_t index) const { return ring_[index % kMaxRequests]; }

  uint32_t posted() const { return posted_.load(std::memory_order_seq_cst); }
  uint32_t sent() const { return sent_.load(std::memory_order_acquire); }
  uint32_t received() const { return received_.load(std::memory_order_acquire); }
  uint64_t blocks_sent() const { return blocks_sent_.load(std::memory_order_acquire); }
  uint64_t blocks_offered() const { return blocks_offered_.load(std::memory_order_acquire); }
  uint64_t blocks_received() const { return blocks_received_.load(std::memory_order_acquire); }

  // Send-token holder. Blocks are offered before the system call that sends them, so that no result can be
  // early.
  void set_sent(uint32_t slices) { sent_.store(slices, std::memory_order_release); }
  void set_blocks_sent(uint64_t n) { blocks_sent_.store(n, std::memory_order_release); }
  void set_blocks_offered(uint64_t n) { blocks_offered_.store(n, std::memory_order_release); }
  // I/O thread.
  void set_received(uint32_t slices) { received_.store(slices, std::memory_order_release); }
  void set_blocks_received(uint64_t n) { blocks_received_.store(n, std::memory_order_release); }

 private:
  std::array<Slice, kMaxRequests> ring_;
  alignas(64) std::atomic<uint32_t> posted_{0};
  alignas(64) std::atomic<uint32_t> sent_{0};
  std::atomic<uint64_t> blocks_offered_{0}, blocks_sent_{0};
  alignas(64) std::atomic<uint32_t> received_{0};
  std::atomic<uint64_t> blocks_received_{0};
};

}  // namespace fanin::plugin::collnet
