// One collective on one rank: what to do, where the data is, and the engines that can do it.
//
// Sizes as in nccl-tests: bytes is the whole buffer for all-reduce, all ranks' shares together for all-gather
// and reduce-scatter (a multiple of nranks elements then).
#pragma once
#include <chrono>
#include <cstddef>
#include <span>

#include "fanin/dtype.h"
#include "fanin/error.h"

namespace fanin::perf {

struct Work {
  Coll coll;
  DType type;
  RedOp op;
  size_t bytes;
  const std::byte*
      send;  // within the attached regions; equal (or where NCCL has it for the rank's share): in place
  std::byte* recv;
};

// The memory sends and receives lie in; one region for both is allowed.
struct Regions {
  std::span<std::byte> send, recv;
};

// Runs collectives over one communicator. attach once; run from one thread (the progress thread); the
// destructor closes.
class Engine {
 public:
  virtual ~Engine() = default;
  // How far run() may read and write past the collective's own bytes, in all, from send and recv (stale
  // tails).
  virtual size_t touched_bytes(size_t bytes) const = 0;
  virtual Status attach(const Regions& regions) = 0;
  // Returns when the collective is complete on this rank, or has failed, or stalled for longer than patience.
  virtual Status run(const Work& work, std::chrono::milliseconds patience) = 0;
  // Ends the communicator in good order.
  virtual Status close() = 0;
};

}  // namespace fanin::perf
