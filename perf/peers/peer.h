// One all-reduce implementation that fanin is compared with, and the program around it.
//
// A peer's main() is `return run_peer(argc, argv, "name", make)`: options, meeting of the ranks (perf/common/group.h),
// warm-up, timing, one check of every element, and the same JSON as fanin-perf's results from rank 0. One thread.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "fanin/error.h"
#include "perf/common/group.h"

namespace fanin::perf {

struct PeerOptions {
  int rank = 0, nranks = 2;
  std::string rendezvous;          // HOST:PORT of rank 0
  std::string host = "127.0.0.1";  // this rank's own address, for listening
  size_t bytes = 1 << 20;
  int iters = 10, warmup = 2;
  bool check = true;
  std::string json;  // rank 0 writes here; empty: stdout
};

class Peer {
 public:
  virtual ~Peer() = default;
  // Sums count floats over all ranks into out; in stays as it is. Returns when out is complete on this rank.
  virtual Status all_reduce(const float* in, float* out, size_t count) = 0;
};

// Collective over the group; bytes is the largest size that will be reduced.
using MakePeer = std::function<Result<std::unique_ptr<Peer>>(const PeerOptions&, Group&)>;

// The exit code: 0; 1 a failure or wrong elements, told on stderr; 2 usage.
int run_peer(int argc, char** argv, const char* name, const MakePeer& make);

}  // namespace fanin::perf
