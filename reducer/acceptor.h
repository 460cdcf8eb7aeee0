// The acceptor: one thread that owns the listening socket and every connection that has not introduced itself
// yet.
//
// It reads one handshake per connection (reducer/introduction.h), within a deadline; strangers (other protocols, silence, garbage)
// are dropped and counted, workers that cannot be admitted are told why, the others are handed to their lane.
// Nothing it does can block, and its work and memory per connection are constant, so that a flood of
// strangers disturbs no session: past kMaxWaiting unfinished handshakes, or without file descriptors, the
// oldest one makes room.
#pragma once
#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

#include "reducer/arrival.h"
#include "reducer/introduction.h"
#include "reducer/reducer.h"
#include "transport/epoll.h"
#include "transport/wake.h"

namespace fanin::reducer {

class Acceptor {
 public:
  using Deliver = std::function<void(Arrival)>;  // called on the acceptor's thread
  static Result<std::unique_ptr<Acceptor>> start(const ReducerConfig& config, Fd listener,
                                                 SessionTable& table, const SecretBook& secrets,
                                                 Deliver deliver);
  ~Acceptor();

  uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }
  uint64_t strangers() const { return strangers_.load(std::memory_order_relaxed); }

  static constexpr size_t kMaxWaiting = 4096;

 private:
  // A connection that is introducing itself, or that was refused and is being read to its end so that the
  // refusal is not lost in a reset.
  struct Guest {
    Fd fd;
    Deadline deadline = Deadline::never();
    std::list<Guest>::iterator self;
    bool refused = false;
    Introduction intro;
  };

  Acceptor(const ReducerConfig& config, Fd listener, SessionTable& table, const SecretBook& secrets,
           Deliver deliver, Epoll epoll, Wake wake);
  void run();
  void accept_some();
  bool keep_spare();
  void read(Guest& guest);
  void introduce(Guest& guest);
  void challenge(Guest& guest);
  void refuse(Guest& guest, wire::Refusal why, std::string_view text);
  void stranger(Guest& guest, std::string_view what);
  void drop(Guest& guest);
  void drop_expired();
  int sleep_ms() const;
  void log(const std::string& line) const;

  const ReducerConfig& config_;
  Fd listener_;
  SessionTable& table_;
  const SecretBook& secrets_;
  const Deliver deliver_;
  Epoll epoll_;
  Wake wake_;
  wire::ReducerId reducer_id_{};
  std::list<Guest> guests_;   // oldest first; all have the same time to live, so also in order of deadlines
  std::list<Guest> dropped_;  // kept until the current events are done with
  std::optional<Deadline> accept_again_;  // set: out of descriptors, not listening until then
  bool told_exhausted_ = false;
  Fd spare_;  // given up to let one more connection in and refuse it with a reason
  Deadline tell_strangers_ = Deadline::after(std::chrono::milliseconds(0));
  uint64_t strangers_told_ = 0;
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> refused_{0}, strangers_{0};
  std::thread thread_;
};

}  // namespace fanin::reducer
