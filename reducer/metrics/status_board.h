// What a reducer tells over HTTP (docs/metrics.md): /metrics, /healthz, /readyz, /sessions, / for people; and /drain.
//
// Answers come from counters that lanes own and from looks at the lanes' sessions, at most one look in kLookEvery, so
// that no stranger can make the lanes work. One thread.
#pragma once
#include <chrono>
#include <vector>

#include "reducer/http/server.h"
#include "reducer/metrics/drain_door.h"
#include "reducer/reducer.h"

namespace fanin::reducer::metrics {

class StatusBoard {
 public:
  static constexpr std::chrono::milliseconds kLookEvery{200};
  static constexpr std::chrono::milliseconds kLookTime{500};  // for all lanes to answer
  // A lane that owes an answer for so long makes /healthz fail: far longer than any turn of its loop.
  static constexpr std::chrono::seconds kDead{60};

  // config: what the reducer was started with.
  StatusBoard(Reducer& reducer, const ReducerConfig& config, DrainDoor drain = {});
  http::Response answer(const http::Request& request, const http::ServerCounts& server);

 private:
  using Time = Deadline::Clock::time_point;
  // All of one moment, so that two looks give rates.
  struct Look {
    Time at{};
    ReducerStats stats;
    std::vector<LaneStats> lanes;
    std::vector<SessionView> sessions;
  };
  const Look& look();
  http::Response metrics(const http::ServerCounts& server);
  http::Response health();
  http::Response ready() const;
  http::Response sessions();

  Reducer& reducer_;
  const unsigned lanes_;
  const uint64_t memory_;
  const std::chrono::milliseconds stall_;
  const Time started_;
  const double start_time_;  // seconds since 1970
  Look look_;
  Time asked_{};  // by health(), without waiting for an answer
  DrainDoor drain_;
};

}  // namespace fanin::reducer::metrics
