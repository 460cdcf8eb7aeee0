// The lines about a session that stands still: one for all lanes and all causes, after FANIN_STALL_MS, twice that, four
// times and so on, and one when it goes on.
//
// INFO at first: a rank may be late for a good reason (a checkpoint). Past three quarters of FANIN_TIMEOUT_MS one WARN, so
// that the end is no surprise. Any thread.
#pragma once
#include <chrono>
#include <mutex>
#include <string>

namespace fanin::plugin::collnet {

class StallLog {
 public:
  using Duration = std::chrono::steady_clock::duration;
  // first, timeout: 0: never. who: "rank 1 of 4".
  StallLog(std::string who, std::chrono::milliseconds first, std::chrono::milliseconds timeout);

  // A lane has work outstanding and has made no progress for `waited`. awaited: whom its reducer says it waits for, "rank 3
  // (10.0.0.7:41234) in message 17"; empty: it has said nothing (yet).
  void waiting(Duration waited, const std::string& lane, const std::string& awaited);
  // A lane of which waiting() was told makes progress again.
  void went_on(Duration waited);

 private:
  const std::string who_;
  const Duration first_, warn_at_;
  std::mutex mutex_;
  Duration next_;
  bool told_ = false, warned_ = false;
};

// "rank 3 (10.0.0.7:41234) on reducer 10.0.0.9:4000 lane 2, in message 17", for messages.
std::string awaited_text(const std::string& lane, const std::string& awaited);

}  // namespace fanin::plugin::collnet
