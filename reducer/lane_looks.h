// How others look at what a lane's sessions are doing: they ask, the lane answers between two turns of its loop, so that
// nothing it works with needs a lock or an atomic. The last answer stays.
//
// ask() and answer() from any thread; wanted() and put() on the lane's. The mutex is a leaf, held for a swap or a copy.
#pragma once
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "reducer/session_view.h"
#include "transport/deadline.h"

namespace fanin::reducer {

class LaneLooks {
 public:
  struct Seen {
    uint64_t serial = 0;  // of the session
    LaneSessionView view;
  };

  // The number of this question; wake the lane then.
  uint64_t ask() {
    std::lock_guard lock(mutex_);
    if (answered_ == asked_) since_ = Deadline::Clock::now();
    wanted_.store(true, std::memory_order_relaxed);
    return ++asked_;
  }
  // What the lane said to that question or to a later one; by the deadline, whatever it said last.
  std::vector<Seen> answer(uint64_t question, Deadline deadline) {
    std::unique_lock lock(mutex_);
    const auto there = [&] { return answered_ >= question; };
    if (deadline.poll_ms() < 0)
      came_.wait(lock, there);
    else
      came_.wait_until(lock, deadline.at(), there);
    return seen_;
  }
  // For how long the lane has owed an answer.
  Deadline::Clock::duration silent() const {
    std::lock_guard lock(mutex_);
    return answered_ == asked_ ? Deadline::Clock::duration{} : Deadline::Clock::now() - since_;
  }

  // The lane: whether somebody asked since the last put().
  bool wanted() const { return wanted_.load(std::memory_order_relaxed); }
  void put(std::vector<Seen> seen) {
    {
      std::lock_guard lock(mutex_);
      wanted_.store(false, std::memory_order_relaxed);
      answered_ = asked_;
      seen_.swap(seen);
    }
    came_.notify_all();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable came_;
  std::atomic<bool> wanted_{false};
  uint64_t asked_ = 0, answered_ = 0;
  Deadline::Clock::time_point since_{};
  std::vector<Seen> seen_;
};

}  // namespace fanin::reducer
