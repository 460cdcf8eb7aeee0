// A point in monotonic time by which something must have happened. Unaffected by clock jumps. Plain value.
#pragma once
#include <algorithm>
#include <chrono>

namespace fanin {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;
  static Deadline after(std::chrono::milliseconds d) { return Deadline(Clock::now() + d); }
  static Deadline never() { return Deadline(Clock::time_point::max()); }
  bool passed() const { return at_ != Clock::time_point::max() && Clock::now() >= at_; }
  // Milliseconds left for poll() and epoll_wait(): rounded up, 0 when passed, -1 for never.
  int poll_ms() const {
    if (at_ == Clock::time_point::max()) return -1;
    auto left = std::chrono::ceil<std::chrono::milliseconds>(at_ - Clock::now()).count();
    return static_cast<int>(std::clamp<long long>(left, 0, 1 << 30));
  }
  Deadline sooner(Deadline o) const { return Deadline(std::min(at_, o.at_)); }
  Clock::time_point at() const { return at_; }

 private:
  explicit Deadline(Clock::time_point at) : at_(at) {}
  Clock::time_point at_;
};

}  // namespace fanin
