// The receiving side of a connection: tells the sender what is posted and collects the chunks from the data
// sockets.
//
// Everything happens in irecv and test, on the caller's thread; nothing blocks or allocates. That the peer
// closed matters only once every data socket has ended: what it sent before still arrives.
#pragma once
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "plugin/fork_guard.h"
#include "plugin/net/inlet.h"
#include "plugin/net/net.h"
#include "plugin/net/request.h"
#include "plugin/net/silence.h"

namespace fanin::plugin::net {

class RecvRequest final : public Request {
 public:
  Result<bool> test(size_t* sizes) override;

 private:
  friend class RecvComm;
  RecvComm* comm = nullptr;
  int slot = 0;
};

class RecvComm {
 public:
  // streams[0] is the control socket; at least one data socket follows. All have had their Hello read.
  // proof: what the peer is told first. silence: how long its host may leave credits unanswered.
  explicit RecvComm(std::vector<std::unique_ptr<Stream>> streams,
                    const std::optional<wire::Proof>& proof = std::nullopt,
                    std::chrono::milliseconds silence = tcp::kKeepAlive);
  // Tells the peer even where a forked child still holds the descriptors.
  ~RecvComm();

  // As net::irecv().
  Result<Request*> irecv(int n, void* const* data, const size_t* sizes, const int* tags);

 private:
  friend class RecvRequest;
  Result<bool> test(RecvRequest& r, size_t* sizes);
  Status progress();
  void write_credit(int slot);
  void flush_credits();
  bool all_ended() const;
  Error fail(Error e);

  std::unique_ptr<Stream> control_;
  std::vector<Inlet> inlets_;
  Postings postings_;
  std::array<RecvRequest, kMaxRequests> requests_;  // by slot
  // The proof and the credits the control socket did not take yet. Large enough: a receive whose credit is here is open.
  std::array<char,
             sizeof(wire::Proof) + kMaxRequests*(sizeof(Credit) + kMaxGroupedReceives * sizeof(CreditPart))>
      output_;
  size_t output_fill_ = 0;
  std::optional<Error> deaf_;  // the peer takes no more credits; earlier receives may still complete
  std::optional<Error> failed_;
  Silence silence_;
  std::deque<ForkGuard> guards_;  // of all descriptors; last, to be gone before them
};

}  // namespace fanin::plugin::net
