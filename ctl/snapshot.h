// What a reducer's /sessions said, as values. Unknown fields are ignored; missing ones are zero. Pure.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "fanin/error.h"

namespace fanin::ctl {

struct Flow {                                  // totals
  double received = 0, sent = 0, reduced = 0;  // bytes
};

struct SessionState {
  std::string name, secret;
  uint64_t serial = 0, ranks = 0, connections = 0, message = 0;
  double age_s = 0, waiting_s = 0, memory = 0;  // seconds, bytes
  Flow flow;
  std::string waiting_for, aborted;
};

struct LaneState {
  Flow flow;
  double cpu_s = 0;
};

struct Snapshot {
  std::string version;
  double uptime_s = 0;  // the moment of it
  bool draining = false;
  double memory = 0, memory_used = 0;
  uint64_t opened = 0, aborted = 0, connections = 0;
  double stall_s = 0;
  std::vector<LaneState> lanes;
  std::vector<SessionState> sessions;
};
Result<Snapshot> parse_snapshot(const std::string& json);

}  // namespace fanin::ctl
