// The sending side of a connection: matches sends with the peer's posted receives and spreads them over the
// data sockets.
//
// Everything happens in isend and test, on the caller's thread; nothing blocks or allocates. A send is done
// when its bytes are in the kernel. Each chunk goes to the socket with the least unacknowledged data, so a
// slow path gets as much as it carries and no more. Where the job has a secret, nothing is sent before the peer has proved
// that it knows it.
#pragma once
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "plugin/fork_guard.h"
#include "plugin/net/grants.h"
#include "plugin/net/net.h"
#include "plugin/net/outlet.h"
#include "plugin/net/request.h"
#include "plugin/net/silence.h"

namespace fanin::plugin::net {

class SendRequest final : public Request {
 public:
  Result<bool> test(size_t* sizes) override;

 private:
  friend class SendComm;
  enum class State { kFree, kQueued, kSending, kDone };
  SendComm* comm = nullptr;
  State state = State::kFree;
  const char* data = nullptr;
  size_t bytes = 0;
  int tag = 0;
  Grant grant;
  bool fits = true;        // else only the news that it does not is sent
  size_t loaded = 0;       // bytes given to outlets
  unsigned under_way = 0;  // chunks in outlets
};

class SendComm {
 public:
  // streams[0] is the control socket; at least one data socket follows. All have sent their Hello.
  // answer: the proof to hear on the control socket before anything else. silence: how long the peer's host may leave data
  // unanswered.
  explicit SendComm(std::vector<std::unique_ptr<Stream>> streams,
                    const std::optional<wire::Proof>& answer = std::nullopt,
                    std::chrono::milliseconds silence = tcp::kKeepAlive);
  // Tells the peer even where a forked child still holds the descriptors; what was handed to the kernel still
  // arrives.
  ~SendComm();

  // As net::isend().
  Result<Request*> isend(const void* data, size_t bytes, int tag);

 private:
  friend class SendRequest;
  Result<bool> test(SendRequest& r, size_t* sizes);
  Status progress();
  Status read_credits();
  Status check_silence();
  void match();
  Status write_chunks();
  Status push(Outlet& outlet);
  Outlet* freest_idle(uint32_t blocked);
  void load(Outlet& outlet, SendRequest& r);
  Error fail(Error e);

  std::unique_ptr<Stream> control_;
  std::vector<Outlet> outlets_;
  size_t next_outlet_ = 0;  // first among equals
  Grants grants_;
  std::array<SendRequest, kMaxRequests> requests_;
  std::array<SendRequest*, kMaxRequests> order_{};  // queued, or with bytes no outlet has yet; oldest first
  int waiting_ = 0;                                 // entries of order_
  int unfinished_ = 0;                              // requests neither done nor free
  std::array<char, kMaxRequests*(sizeof(Credit) + kMaxGroupedReceives * sizeof(CreditPart))> input_;
  size_t input_fill_ = 0;
  bool peer_left_ = false;             // the control socket ended
  std::optional<wire::Proof> answer_;  // not heard yet
  Silence silence_;
  std::optional<Error> failed_;
  std::deque<ForkGuard> guards_;  // of all descriptors; last, to be gone before them
};

}  // namespace fanin::plugin::net
