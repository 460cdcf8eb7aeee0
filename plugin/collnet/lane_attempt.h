// One attempt after another to get one connection to one reducer lane: connect, Hello, Welcome; with a
// secret, both prove in between that they know it, and nothing less is taken.
//
// A state machine that never blocks: the connector polls fd() for events() and calls step(), or waits until
// due(). One thread.
#pragma once
#include <poll.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "fanin/wire.h"
#include "plugin/collnet/connector.h"
#include "transport/deadline.h"
#include "transport/fd.h"

namespace fanin::plugin::collnet {

class LaneAttempt {
 public:
  using Clock = Deadline::Clock;
  // addresses: tried in turn, at least one. request outlives the attempt.
  LaneAttempt(std::string reducer, std::vector<tcp::Address> addresses, const JoinRequest& request,
              uint32_t lane, uint64_t window, Deadline deadline);

  enum class State { kWaiting, kConnecting, kHello, kChallenge, kProof, kWelcome, kDone, kFailed };
  State state() const { return state_; }
  bool over() const { return state_ == State::kDone || state_ == State::kFailed; }
  int fd() const { return fd_.get(); }
  short events() const { return reading() ? POLLIN : POLLOUT; }
  Deadline due() const;

  // The descriptor is ready, or due() has come.
  void step(bool ready);

  const std::string& why() const { return why_; }  // last failure; final in kFailed
  bool refused_as_duplicate() const {
    return state_ == State::kFailed && welcome_.refusal == wire::Refusal::kDuplicate;
  }
  const wire::Welcome& welcome() const { return welcome_; }             // kDone, or a refusal
  const tcp::Address& address() const { return addresses_[current_]; }  // kDone: where it is
  LaneConnection take();                                                // kDone, once

 private:
  bool reading() const { return state_ == State::kChallenge || state_ == State::kWelcome; }
  void begin();
  void connected();
  void send_some(const void* data, size_t bytes, State next);
  void read_welcome();
  void judge_challenge();
  void judge_welcome();
  void retry(std::string why, bool refused = false);
  void fail(std::string why);

  const std::string reducer_;
  const std::vector<tcp::Address> addresses_;
  const JoinRequest& request_;
  const uint32_t lane_;
  const uint64_t window_;
  const Deadline deadline_;

  State state_ = State::kWaiting;
  Deadline wake_ =
      Deadline::after(std::chrono::milliseconds(0));  // kWaiting: begin; else: give this address up
  size_t current_ = 0, next_ = 0;                     // indices of addresses_
  std::chrono::milliseconds back_off_{20};
  std::optional<Clock::time_point> refused_since_;  // nothing but refusals since then
  Fd fd_;
  size_t done_ = 0;  // bytes of Hello or HelloProof sent, or of Welcome and text received
  wire::Hello hello_{};
  wire::Welcome challenge_{};
  wire::HelloProof proof_{};
  wire::Welcome welcome_{};
  std::string text_;
  std::string why_ = "no answer";
};

}  // namespace fanin::plugin::collnet
