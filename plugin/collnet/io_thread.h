// A thread that sends and receives for some lanes of one session.
//
// The lanes are served in small steps, beginning with another one on each rank, and none sends far ahead of the slowest
// (abreast()): so all reducers get all ranks' parts of a message at the same time, and no link waits for another. The lane
// that is furthest behind is never held up by this, nor, since all ranks keep to it, by the window: nothing can lock.
// It polls for a while when there was something to do (FANIN_POLL_US), then sleeps in epoll. Edge-triggered:
// a lane is read until it is dry and written until it is full. On the first error of the session, its own or
// another thread's, it closes its lanes at once, so that reducers and through them the other ranks learn, and
// ends. Exists only between the session's verdict and its close; takes no signals.
#pragma once
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "plugin/collnet/failure.h"
#include "plugin/collnet/lane.h"
#include "transport/epoll.h"
#include "transport/thread_checker.h"
#include "transport/wake.h"

namespace fanin::plugin::collnet {

struct IoTuning {
  std::chrono::microseconds poll{0};
  std::chrono::milliseconds timeout{0};        // 0: for ever
  std::chrono::milliseconds stall{0};          // without progress before it is told; 0: never
  std::vector<unsigned> cpus;                  // to run on; empty: wherever the kernel puts it
  std::chrono::milliseconds keepalive{30000};  // of a host that answers nothing
};

// What the I/O threads of one session share with it. Callbacks are called on I/O threads.
class IoOwner {
 public:
  virtual void slice_done(Request* request, Lane* lane) = 0;
  virtual void fail(Error error, wire::AbortCode code) = 0;  // first one wins
  virtual const Failure& failure() const = 0;
  virtual size_t lane_count() const = 0;  // of all threads
  // A lane with work outstanding has made no progress for so long; then, that it goes on.
  virtual void waiting(const Lane& lane, std::chrono::steady_clock::duration waited) = 0;
  virtual void went_on(std::chrono::steady_clock::duration waited) = 0;
  virtual void io_ended() = 0;  // this thread touches no caller's memory any more

 protected:
  ~IoOwner() = default;
};

class IoThread {
 public:
  static Result<std::unique_ptr<IoThread>> make(IoOwner& owner, std::vector<Lane*> lanes,
                                                const IoTuning& tuning);
  ~IoThread() { stop(); }
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  Status start(int number);
  // Ends the thread and waits for it; lanes stay open unless the session failed.
  void stop();
  // After posting: only costs a system call when the thread sleeps. Any thread.
  void wake() {
    if (asleep_.load(std::memory_order_seq_cst) && asleep_.exchange(false, std::memory_order_seq_cst))
      wake_.notify();
  }
  void interrupt() const { wake_.notify(); }

 private:
  using Clock = std::chrono::steady_clock;
  IoThread(IoOwner& owner, std::vector<Lane*> lanes, const IoTuning& tuning, Epoll epoll, Wake wake)
      : owner_(owner),
        lanes_(std::move(lanes)),
        tuning_(tuning),
        epoll_(std::move(epoll)),
        wake_(std::move(wake)) {}
  void run();
  bool service(Lane& lane, uint64_t end);
  uint64_t abreast() const;
  bool receive(Lane& lane);
  void lost(Lane& lane, Error error, wire::AbortCode code);
  bool anything_to_send();
  void watch_clock(Lane& lane, Clock::time_point now, bool moved);
  void watch_silence(Lane& lane, Clock::time_point now, Clock::duration waited);
  void close_lanes();
  int tick_ms() const;

  IoOwner& owner_;
  const std::vector<Lane*> lanes_;
  const IoTuning tuning_;
  ThreadChecker on_thread_{"an I/O thread's state"};
  Epoll epoll_;
  Wake wake_;
  std::atomic<bool> asleep_{false};
  std::atomic<bool> stop_{false};
  pthread_t thread_{};
  bool running_ = false;
  bool asking_ = false;  // I/O thread: in lost()
};

}  // namespace fanin::plugin::collnet
