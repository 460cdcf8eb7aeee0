// A lane: one thread, one event loop, and all state of its sessions. Lanes share nothing but the session
// table, which they touch only when connections come and go.
//
// post() hands a connection over (any thread); everything else happens on the lane's thread. A turn of the
// loop serves each ready connection a bounded amount, so ranks and sessions are served evenly however fast
// one of them sends.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "reducer/arrival.h"
#include "reducer/lane_context.h"
#include "reducer/lane_looks.h"
#include "transport/wake.h"

namespace fanin::reducer {

class LaneSession;

class Lane {
 public:
  static Result<std::unique_ptr<Lane>> start(const ReducerConfig& config, SessionTable& table,
                                             uint32_t index);
  // Aborts all sessions (kShutdown) without waiting for anyone, and joins the thread.
  ~Lane();
  void post(Arrival arrival);
  const LaneCounters& counters() const { return counters_; }
  double cpu_seconds() const;  // that its thread has used
  // Asks for a look at its sessions; the answer is in looks().
  uint64_t ask() {
    const uint64_t question = looks_.ask();
    wake_.notify();
    return question;
  }
  LaneLooks& looks() { return looks_; }

 private:
  Lane(const ReducerConfig& config, SessionTable& table, uint32_t index, Epoll epoll, Wake wake);
  void run();
  void take_arrivals();
  void join(Arrival arrival);
  void tick();
  void end_turn();
  void answer_look();
  int sleep_ms() const;

  LaneCounters counters_;
  LaneContext context_;
  LaneLooks looks_;
  Wake wake_;
  std::mutex mailbox_mutex_;
  std::vector<Arrival> mailbox_;
  std::vector<Arrival> taken_;
  std::unordered_map<uint64_t, std::unique_ptr<LaneSession>> sessions_;  // by Session::serial
  LaneContext::Clock::time_point next_tick_{};
  LaneContext::Clock::duration tick_every_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace fanin::reducer
