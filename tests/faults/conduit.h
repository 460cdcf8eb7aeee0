// One direction of one relayed connection: reads a piece, waits if it was told to, writes it on.
//
// Ends of stream and errors are passed on as they came. A trap strikes after an exact number of bytes. The relay's
// thread only.
#pragma once
#include <poll.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "tests/faults/dice.h"
#include "tests/faults/relay_order.h"

namespace fanin::faults {

// How all traffic is treated at the moment.
struct Treatment {
  uint32_t delay_us = 0;
  bool crumbs = false;
  Dice dice{0};
};

class Conduit {
 public:
  using Clock = std::chrono::steady_clock;
  enum class End { kNone, kClosed, kBroken };  // kClosed: its end was passed on; kBroken: one side is dead

  Conduit(int from, int to) : from_(from), to_(to), buffer_(64 << 10) {}

  // What to wait for, and on which descriptor: at most one of them at a time.
  pollfd interest(Clock::time_point now) const;
  std::optional<Clock::time_point> due() const;  // when it wants to go on without an event
  End pump(Treatment& treatment, Clock::time_point now);

  void set_trap(uint64_t bytes_from_now) { trap_ = passed_ + bytes_from_now; }
  bool trapped() const { return trap_ && passed_ >= *trap_; }
  void stall() { stalled_ = true; }
  void release() { stalled_ = false, trap_.reset(); }
  // Nothing more but the end of stream, now.
  void end();
  bool ended() const { return ended_; }

 private:
  const int from_, to_;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;
  uint64_t passed_ = 0;
  std::optional<uint64_t> trap_;
  Clock::time_point ready_at_{};
  bool stalled_ = false, at_end_ = false, ended_ = false;
};

}  // namespace fanin::faults
