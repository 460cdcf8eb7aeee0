// One attempt after another to get one connection to one reducer lane, or to be told about the reducer: connect, Hello,
// Welcome; with a secret, both prove in between that they know it, and nothing less is taken.
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
  // The reducer is asked what it is and where: no lane is joined.
  static constexpr uint32_t kAsk = UINT32_MAX;
  // targets: tried in turn, at least one. id: of the reducer, if it is known. request outlives the attempt.
  LaneAttempt(std::string reducer, std::vector<Target> targets, const JoinRequest& request, uint32_t lane,
              uint64_t window, Deadline deadline, const wire::ReducerId& id = {});

  enum class State { kWaiting, kConnecting, kHello, kChallenge, kProof, kWelcome, kDone, kFailed };
  State state() const { return state_; }
  bool over() const { return state_ == State::kDone || state_ == State::kFailed; }
  int fd() const { return fd_.get(); }
  short events() const { return reading() ? POLLIN : POLLOUT; }
  Deadline due() const;

  // The descriptor is ready, or due() has come.
  void step(bool ready);

  const std::string& why() const { return why_; }              // last failure; final in kFailed
  const wire::Welcome& welcome() const { return welcome_; }    // kDone, or a refusal
  const std::string& text() const { return text_; }            // of the Welcome
  const Target& target() const { return targets_[current_]; }  // kDone: where it is
  std::vector<tcp::Address> dead() const;  // addresses that did not answer, at their last try
  LaneConnection take();                   // kDone, once; not for kAsk

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
  // This address will not do; another may.
  void pass_on(std::string why);

  const std::string reducer_;
  const std::vector<Target> targets_;
  const JoinRequest& request_;
  const uint32_t lane_;
  const uint64_t window_;
  const Deadline deadline_;
  const wire::ReducerId id_;

  State state_ = State::kWaiting;
  Deadline wake_ =
      Deadline::after(std::chrono::milliseconds(0));  // kWaiting: begin; else: give this address up
  size_t current_ = 0, next_ = 0;                     // indices of targets_
  std::vector<bool> dead_;                            // of targets_
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
