// A ring all-reduce over plain TCP that does nothing but its work: the yardstick a reduction server is held against.
//
// Not a strawman: one connection each way, one thread, no framing at all. Both sides know the byte stream by heart, so
// whatever has been received and summed may be passed on at once, whole floats at a time; the pipeline has the depth of
// the socket buffers. Contract: perf/peers/peer.h.
#pragma once
#include <memory>
#include <vector>

#include "perf/peers/peer.h"
#include "transport/fd.h"

namespace fanin::perf {

class IdealRing final : public Peer {
 public:
  static Result<std::unique_ptr<Peer>> make(const PeerOptions& options, Group& group);
  Status all_reduce(const float* in, float* out, size_t count) override;

 private:
  IdealRing(size_t rank, size_t nranks, Fd next, Fd previous)
      : rank_(rank), nranks_(nranks), next_(std::move(next)), previous_(std::move(previous)) {}
  struct Piece;  // a contiguous part of the stream, within one segment
  Piece piece(size_t at, size_t count, size_t first_segment) const;
  Result<size_t> send_some(const float* in, const float* out, size_t count, size_t sent, size_t may_send);
  Result<size_t> receive_some(const float* in, float* out, size_t count, size_t received);

  size_t rank_, nranks_;
  Fd next_, previous_;
  std::vector<float> scratch_ = std::vector<float>(64 << 10);
  size_t partial_ = 0;  // bytes in scratch_ that are not a whole float yet
};

}  // namespace fanin::perf
