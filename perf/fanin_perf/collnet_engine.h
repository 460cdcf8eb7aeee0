// The collective as NCCL's proxy drives a collnet plugin: groups of up to eight channels joined in one call,
// issued in strict (step, group) order, eight steps of a group in flight, a null request tried again,
// completion polled by test.
//
// NCCL copies user data to and from its slots on the GPU; that has no counterpart here: calls point straight
// into the user's buffers, whose tails behind the collective's bytes are stale. Contract: work.h.
#pragma once
#include <vector>

#include "perf/common/backoff.h"
#include "perf/common/coll_comm.h"
#include "perf/fanin_perf/chunking.h"
#include "perf/fanin_perf/work.h"

namespace fanin::perf {

class CollnetEngine final : public Engine {
 public:
  // comm.comm() must not be null. whole: one call per collective instead of NCCL's chunks.
  CollnetEngine(CollComm comm, int rank, int nranks, size_t channels, bool whole, bool crowded)
      : comm_(std::move(comm)),
        rank_(static_cast<size_t>(rank)),
        nranks_(static_cast<size_t>(nranks)),
        channels_(channels),
        whole_(whole),
        backoff_(crowded) {}
  size_t touched_bytes(size_t bytes) const override { return cut(bytes).padded_bytes(); }
  Status attach(const Regions& regions) override;
  Status run(const Work& work, std::chrono::milliseconds patience) override;
  Status close() override { return comm_.close(); }

 private:
  Chunking cut(size_t bytes) const {
    return whole_ ? Chunking{1, bytes, 1} : nccl_chunking(bytes, channels_);
  }
  // Issues the call for [offset, offset + bytes) of the collective; *request stays null when it cannot be
  // taken now or, with *empty, when nothing is to be done.
  ncclResult_t issue(const Work& work, size_t offset, size_t bytes, void** request, bool* empty);

  CollComm comm_;
  size_t rank_, nranks_, channels_;
  bool whole_;
  Backoff backoff_;
  void* send_mhandle_ = nullptr;
  void* recv_mhandle_ = nullptr;
};

}  // namespace fanin::perf
