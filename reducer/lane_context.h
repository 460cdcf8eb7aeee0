// What a lane shares with its sessions and their members. Owned by the lane; the lane's thread only.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "reducer/counters.h"
#include "reducer/reducer.h"
#include "reducer/session_table.h"
#include "transport/epoll.h"
#include "transport/thread_checker.h"

namespace fanin::reducer {

class Member;

struct LaneContext {
  using Clock = Deadline::Clock;
  LaneContext(const ReducerConfig& config, SessionTable& table, uint32_t index, Epoll epoll,
              LaneCounters& counters);
  ~LaneContext();
  const ReducerConfig& config;
  SessionTable& table;
  uint32_t index;
  Epoll epoll;
  LaneCounters& counters;
  ThreadChecker thread{"a reducer lane"};
  Clock::time_point now{};  // of this turn: one clock read per turn
  // Destroyed at the end of the turn: events may still name them.
  std::vector<std::unique_ptr<Member>> closed;
  // Null: anywhere.
  const LanePlace* place() const { return index < config.places.size() ? &config.places[index] : nullptr; }
  void log(const std::string& line) const {
    if (config.log) config.log(line);
  }
};

}  // namespace fanin::reducer
