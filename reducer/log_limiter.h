// Which events about peers become lines of the log: one per peer and kind in an interval, and not more than a budget of
// all of them, in constant memory. What is held back is counted and told with the next line.
//
// One thread. The caller gives the time.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "reducer/line_budget.h"
#include "reducer/peer_key.h"
#include "transport/deadline.h"

namespace fanin::reducer {

class LogLimiter {
 public:
  using Time = Deadline::Clock::time_point;
  LogLimiter(std::chrono::milliseconds interval, uint64_t budget)
      : interval_(interval), budget_(interval, budget) {}

  // Nothing: hold the line back. Else what to add to it, such as " (41 more like it since the last)".
  std::optional<std::string> line(const PeerKey& peer, uint32_t kind, Time now) {
    if (now - swept_ >= interval_) {
      swept_ = now;
      std::erase_if(entries_, [&](auto& e) { return now - e.second.told >= 2 * interval_; });
    }
    auto known = entries_.find({peer, kind});
    if (known != entries_.end() && now - known->second.told < interval_) {
      ++known->second.held_back;
      return std::nullopt;
    }
    // Every entry was told, so the budget bounds the table too.
    const std::optional<uint64_t> others_held_back = budget_.line(now);
    if (!others_held_back) return std::nullopt;
    Entry& e = entries_[{peer, kind}];
    std::string more;
    if (const uint64_t n = std::exchange(e.held_back, 0); n > 0)
      more += " (" + std::to_string(n) + " more like it since the last line)";
    if (*others_held_back > 0)
      more += " (and " + std::to_string(*others_held_back) + " lines about other peers were left out)";
    e.told = now;
    return more;
  }
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Time told{};
    uint64_t held_back = 0;
  };
  const std::chrono::milliseconds interval_;
  LineBudget budget_;
  std::map<std::pair<PeerKey, uint32_t>, Entry> entries_;
  Time swept_{};
};

}  // namespace fanin::reducer
