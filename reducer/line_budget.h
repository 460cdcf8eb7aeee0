// How many lines may be logged in an interval. What is held back is counted and told with the next line. Not thread-safe; the
// caller gives the time.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "transport/deadline.h"

namespace fanin::reducer {

class LineBudget {
 public:
  using Time = Deadline::Clock::time_point;
  constexpr LineBudget(std::chrono::milliseconds interval, uint64_t lines)
      : interval_(interval), lines_(lines) {}

  // Nothing: hold the line back. Else how many were held back before it.
  std::optional<uint64_t> line(Time now) {
    if (now - began_ >= interval_) {
      began_ = now;
      spent_ = 0;
    }
    if (spent_ >= lines_) {
      ++held_back_;
      return std::nullopt;
    }
    ++spent_;
    return std::exchange(held_back_, 0);
  }

 private:
  const std::chrono::milliseconds interval_;
  const uint64_t lines_;
  Time began_{};
  uint64_t spent_ = 0, held_back_ = 0;
};

}  // namespace fanin::reducer
