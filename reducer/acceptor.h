// The acceptor: one thread that owns the listening socket and every connection that has not introduced itself
// yet.
//
// It reads one handshake per connection (reducer/introduction.h), within a deadline; strangers (other protocols, silence, garbage)
// are dropped and counted, workers that cannot be admitted are told why, the others are handed to their lane.
// Nothing it does can block, and its work and memory per connection are constant, so that a flood of
// strangers disturbs no session: past the limits on unfinished handshakes (of all, of one peer), or without file
// descriptors, the oldest one makes room. The same holds for questions for figures, which wait in the council.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "reducer/arrival.h"
#include "reducer/council.h"
#include "reducer/guest.h"
#include "reducer/guest_counters.h"
#include "reducer/log_limiter.h"
#include "reducer/reducer.h"
#include "transport/epoll.h"
#include "transport/thread_checker.h"
#include "transport/wake.h"

namespace fanin::reducer {

class Acceptor {
 public:
  using Deliver = std::function<void(Arrival)>;  // called on the acceptor's thread
  static Result<std::unique_ptr<Acceptor>> start(const ReducerConfig& config, Fd listener,
                                                 SessionTable& table, const SecretBook& secrets,
                                                 Deliver deliver);
  ~Acceptor();

  GuestCounts counts() const { return counters_.counts(); }

 private:
  Acceptor(const ReducerConfig& config, Fd listener, SessionTable& table, const SecretBook& secrets,
           Deliver deliver, Epoll epoll, Wake wake, Epoll council);
  void run();
  void accept_some();
  void welcome_in(Fd fd);
  bool keep_spare(const Guest* for_whom = nullptr);
  bool make_room(std::string_view what, const Guest* for_whom = nullptr);
  bool has_memory() const { return !config_.has_memory || config_.has_memory(); }
  void read(Guest& guest);
  void introduce(Guest& guest);
  void introduce_to_council(Guest& guest);
  void challenge(Guest& guest);
  void answer(Guest& guest);
  // The last word to a guest that stays no longer.
  void tell(Guest& guest, wire::Refusal why, std::string_view text);
  void refuse(Guest& guest, wire::Refusal why, std::string_view text);
  // Drops a guest that was told nothing.
  void stranger(Guest& guest, GuestEnd why, std::string_view what);
  void drop(Guest& guest);
  void drop_expired();
  // Counts one and, if it is time for a line about its like, logs it.
  void count_stranger(const tcp::Address& from, GuestEnd why, std::string_view what);
  int sleep_ms() const;
  void log(const std::string& line) const;

  const ReducerConfig& config_;
  Fd listener_;
  SessionTable& table_;
  const SecretBook& secrets_;
  const Deliver deliver_;
  ThreadChecker on_thread_{"the acceptor"};
  Epoll epoll_;
  Wake wake_;
  Council council_;
  wire::ReducerId reducer_id_{};
  const std::string rails_;  // as wire::Refusal::kAnswer tells them
  PeerList<Guest> guests_;
  GuestCounters counters_;
  LogLimiter stranger_lines_, refusal_lines_;
  std::optional<Deadline> accept_again_;  // set: out of descriptors, not listening until then
  bool told_exhausted_ = false;
  Fd spare_;  // given up to let one more connection in and refuse it with a reason
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace fanin::reducer
