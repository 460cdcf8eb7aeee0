// Finds out, now and then, whether a peer's host has stopped answering. For callers that poll: most calls cost one
// addition. One thread.
#pragma once
#include <chrono>
#include <string>

#include "fanin/error.h"
#include "transport/deadline.h"
#include "transport/stream.h"
#include "transport/tcp/socket.h"

namespace fanin::plugin::net {

class Silence {
 public:
  // most: for how long a host may leave data unanswered.
  explicit Silence(std::chrono::milliseconds most) : most_(most) {}

  // True about every half second of waiting.
  bool time_to_look() {
    if (++calls_ % kCallsPerClock != 0 || !next_.passed()) return false;
    next_ = Deadline::after(kEvery);
    return true;
  }
  bool too_long(const Stream& s) const { return s.unanswered() >= most_; }
  Error error(const Stream& s) const {
    return Error(Errc::kRemote, "lost peer " + s.peer() + ": its host has answered nothing for " +
                                    std::to_string(s.unanswered().count()) +
                                    " ms (is it down, or a link or firewall between?)");
  }

 private:
  static constexpr unsigned kCallsPerClock = 64;
  static constexpr std::chrono::milliseconds kEvery{500};
  std::chrono::milliseconds most_;
  unsigned calls_ = 0;
  Deadline next_ = Deadline::after(kEvery);
};

}  // namespace fanin::plugin::net
