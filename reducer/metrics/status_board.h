// What a reducer tells over HTTP (docs/metrics.md): /metrics, /healthz, /readyz, /sessions.
//
// Answers come from counters that lanes own and from looks at the lanes' sessions, at most one look in kLookEvery, so
// that no stranger can make the lanes work. One thread.
#pragma once
#include <chrono>
#include <vector>

#include "reducer/http/server.h"
#include "reducer/reducer.h"

namespace fanin::reducer::metrics {

class StatusBoard {
 public:
  static constexpr std::chrono::milliseconds kLookEvery{200};
  static constexpr std::chrono::milliseconds kLookTime{500};  // for all lanes to answer
  // A lane that owes an answer for so long makes /healthz fail: far longer than any turn of its loop.
  static constexpr std::chrono::seconds kDead{60};

  // config: what the reducer was started with.
  StatusBoard(Reducer& reducer, const ReducerConfig& config);
  http::Response answer(const http::Request& request, const http::ServerCounts& server);

 private:
  using Time = Deadline::Clock::time_point;
  const std::vector<SessionView>& look();
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
  Time looked_{};
  std::vector<SessionView> seen_;
};

}  // namespace fanin::reducer::metrics
