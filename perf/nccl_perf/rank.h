// One rank of a run: a GPU, a communicator on it and buffers for the largest size. Lives in a thread of its
// own.
//
// Only NCCL's and CUDA's public APIs are used and no kernel of ours: data is made and checked on the host.
// While it waits it watches for errors of the communicator, the failure of any other rank, and the time-out.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "perf/common/check.h"
#include "perf/nccl_perf/device.h"
#include "perf/nccl_perf/options.h"
#include "perf/nccl_perf/shape.h"
#include "perf/nccl_perf/team.h"

namespace fanin::nccl_perf {

// What to run: one row and half of a table.
struct Case {
  Shape shape;
  DType type;
  perf::CheckOp op;
  bool in_place;
};

class Rank {
 public:
  // Blocks until all ranks have called it. polite: sleep between looks at the stream, where ranks outnumber
  // cores.
  static Result<std::unique_ptr<Rank>> make(Team& team, int thread, int device, bool polite,
                                            const Options& options);

  // Untimed operations.
  Status warm_up(const Case& c);
  // Mean seconds per operation on this rank.
  Result<double> time(const Case& c);
  // One operation on fresh data; the number of wrong elements on this rank.
  Result<uint64_t> check(const Case& c, const perf::Checker& checker);
  Status finish() { return comm_.finish(); }

  int rank() const { return rank_; }
  // "Rank  0 Group  0 Pid 4711 on host device  0 [0000:06:00] name", as nccl-tests says it.
  std::string description() const;
  bool can_reduce_fp8() const { return fp8_; }

 private:
  Rank(Team& team, int thread, int device, bool polite, const Options& options)
      : team_(team),
        thread_(thread),
        device_(device),
        rank_(team.rank_of(thread)),
        polite_(polite),
        options_(options) {}
  Status set_up();
  Status start(const Case& c, size_t iteration);
  Status throttle(size_t started);
  Status wait();  // for the stream to be idle
  template <class Query>
  Status wait_for(const char* call, Query query);
  Status upload(const perf::Checker& checker, uint64_t first, char* to, size_t elements, size_t size);

  Team& team_;
  const int thread_, device_, rank_;
  const bool polite_;
  const Options& options_;
  bool fp8_ = false;
  uint64_t runs_ = 0;  // of check, equal on all ranks
  Stream stream_;
  Event batches_[2];
  DeviceBuffer send_, recv_;
  std::vector<uint8_t> staging_;
  Comm comm_;  // last: goes first
};

}  // namespace fanin::nccl_perf
