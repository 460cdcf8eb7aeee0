// The sending half of a lane: headers and payload of queued slices, straight from the caller's buffers.
//
// At most window_blocks blocks are on their way: block i of the lane's life is sent only once block i -
// window_blocks has come back, so a slice larger than the window is streamed. In an all-gather this rank's
// part of the slice alone is sent; blocks of other ranks go with the header. Used by whoever holds the lane's
// send token; never blocks.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "fanin/wire.h"
#include "plugin/collnet/lane_queue.h"
#include "transport/stream.h"

namespace fanin::plugin::collnet {

class LaneSender {
 public:
  LaneSender(LaneQueue& queue, uint32_t block_bytes, uint32_t window_blocks, bool checksums = false)
      : queue_(queue), block_bytes_(block_bytes), window_blocks_(window_blocks), checksums_(checksums) {}

  enum class Outcome {
    kIdle,    // nothing queued that the window lets through
    kMoved,   // bytes went; there may be more to send
    kFull,    // the socket takes no more for now
    kBroken,  // the connection failed (error())
  };
  // One gathered write of at most `most` bytes of payload.
  Outcome send(Stream& stream, uint64_t most = UINT64_MAX);
  // Only what is left of the slice that was begun: kIdle when nothing is, or the window is full.
  Outcome send_rest(Stream& stream);

  // Whether send() would have something to offer.
  bool ready() const;
  // Between two frames: only then can a goodbye or an abort follow.
  bool at_boundary() const { return at_.header_sent == 0; }
  int error() const { return error_.load(std::memory_order_relaxed); }  // any thread
  // A good size for one of many writes: small while the lane has just begun, so that every reducer has something to do
  // soon, and growing, for fewer system calls, to some moments of the link: while a lane takes more, the others' reducers
  // wait. Never less than what the link takes in one moment.
  uint64_t step() const {
    const uint64_t most = std::clamp(25 * moment_, kMostStep / 2, kMostStep);
    return std::max(std::clamp<uint64_t>(burst_ / 16, kLeastStep, most), moment_);
  }
  // How far this lane has come in the sequence of all messages, in bytes of the session. Any thread.
  uint64_t position() const { return position_.load(std::memory_order_relaxed); }

  // The last frame, best effort: what does not go at once is lost.
  void farewell(Stream& stream, wire::FrameType type, wire::AbortCode code, const std::string& text);

 private:
  static constexpr uint64_t kLeastStep = 4 << 10, kMostStep = 64 << 10, kMostMoment = 1 << 20;
  static constexpr uint64_t kMomentsPerSecond = 10000;
  static constexpr uint64_t kLookEvery = 256 << 10;  // bytes sent between looks at the link's rate
  // The next byte to send.
  struct Position {
    uint32_t slice = 0;
    uint32_t header_sent = 0;  // 0 … sizeof(SliceHeader)
    uint64_t payload = 0;      // position in the window, once the header has begun
    uint64_t first_block = 0;  // blocks of the lane's life before this slice
    // With checksums.
    uint64_t sums = 0;      // sent in the lane's life
    uint32_t sum_sent = 0;  // bytes of the next one
    bool sum_due = false;   // the next byte is its
  };
  wire::SliceHeader header(const Slice& slice) const;
  void advance(uint64_t bytes);
  Outcome send_slices(Stream& stream, uint32_t until, uint64_t most);
  bool advance_summed(const Slice& slice, uint64_t& bytes);
  uint64_t part_end(const Slice& slice, uint64_t pos) const;
  const std::byte* sum_at(const Position& p, const Slice& slice);

  LaneQueue& queue_;
  const uint64_t block_bytes_;
  const uint64_t window_blocks_;
  const bool checksums_;
  Position at_;
  // What one write offers and a socket does not take is not summed again for the next.
  static constexpr uint32_t kSums = 16;
  uint64_t summed_ = 0;  // in the lane's life; the last kSums of them:
  std::array<uint64_t, kSums> sums_{};
  uint64_t burst_ = 0;         // bytes sent since everything had come back
  uint64_t moment_ = 0;        // bytes that the link takes in a moment, as far as that is known
  uint64_t unlooked_ = 0;      // bytes sent since the last look at the link's rate
  std::atomic<int> error_{0};  // errno that ended the stream
  std::atomic<uint64_t> position_{0};
};

}  // namespace fanin::plugin::collnet
