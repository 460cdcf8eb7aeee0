#include "perf/fanin_perf/collnet_engine.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "transport/deadline.h"

namespace fanin::perf {
namespace {

// The requests of one group: a ring of kStepsInFlight, posted and done counted in steps.
struct GroupState {
  std::array<void*, kStepsInFlight> requests{};
  size_t posted = 0, done = 0;
};

ncclDataType_t nccl_type(DType t) { return static_cast<ncclDataType_t>(t); }
ncclRedOp_t nccl_op(RedOp op) { return static_cast<ncclRedOp_t>(op); }

}  // namespace

Status CollnetEngine::attach(const Regions& regions) {
  // NCCL registers the same region once per channel and direction.
  for (size_t c = 0; c < channels_; c++) {
    auto send = comm_.register_memory(regions.send.data(), regions.send.size());
    if (!send) return send.error();
    auto recv = comm_.register_memory(regions.recv.data(), regions.recv.size());
    if (!recv) return recv.error();
    send_mhandle_ = *send, recv_mhandle_ = *recv;
  }
  return {};
}

ncclResult_t CollnetEngine::issue(const Work& work, size_t offset, size_t bytes, void** request,
                                  bool* empty) {
  const ncclCollNet_v12_t& t = comm_.table();
  auto* send = const_cast<std::byte*>(work.send);  // the ABI has no const
  std::byte* recv = work.recv;
  if (work.coll == Coll::kAllReduce)
    return t.iallreduce(comm_.comm(), send + offset, recv + offset, bytes / dtype_size(work.type),
                        nccl_type(work.type), nccl_op(work.op), send_mhandle_, recv_mhandle_, request);

  // The window of the concatenation, cut at its end, and this rank's part of it (maybe empty).
  size_t per_rank = work.bytes / nranks_;
  size_t end = std::min(offset + bytes, work.bytes);
  if (offset >= end) {
    *empty = true;
    return ncclSuccess;
  }
  size_t mine_begin = std::clamp(offset, rank_ * per_rank, (rank_ + 1) * per_rank) - rank_ * per_rank;
  if (work.coll == Coll::kAllGather) {
    ncclNetSGE_v12_t part{recv_mhandle_, recv + offset, end - offset};
    return t.iallgather(comm_.comm(), send + mine_begin, 1, &part, per_rank, offset, end - offset,
                        send_mhandle_, request);
  }
  ncclNetSGE_v12_t part{send_mhandle_, send + offset, end - offset};
  return t.ireducescatter(comm_.comm(), 1, &part, recv + mine_begin, per_rank, offset, end - offset,
                          nccl_type(work.type), nccl_op(work.op), recv_mhandle_, request);
}

Status CollnetEngine::run(const Work& work, std::chrono::milliseconds patience) {
  const Chunking cut = this->cut(work.bytes);
  std::vector<GroupState> groups(cut.groups());
  size_t next_group = 0, finished = 0;
  Deadline deadline = Deadline::after(patience);
  unsigned polls = 0;
  bool progressed = false;
  while (finished < groups.size()) {
    bool idle = true;
    GroupState* g = &groups[next_group];
    while (g->posted < cut.steps && g->posted < g->done + kStepsInFlight) {
      void*& request = g->requests[g->posted % kStepsInFlight];
      request = nullptr;
      bool empty = false;
      size_t offset = g->posted * cut.step_bytes() + next_group * kGroupChannels * cut.chunk_bytes;
      ncclResult_t rc =
          issue(work, offset, cut.group_channels(next_group) * cut.chunk_bytes, &request, &empty);
      if (rc != ncclSuccess)
        return call_failed(work.coll == Coll::kAllReduce   ? "iallreduce"
                           : work.coll == Coll::kAllGather ? "iallgather"
                                                           : "ireducescatter",
                           rc);
      if (!request && !empty) break;  // not now
      g->posted++;
      idle = false;
      next_group = (next_group + 1) % groups.size();
      g = &groups[next_group];
    }
    for (GroupState& group : groups) {
      while (group.done < group.posted) {
        void* request = group.requests[group.done % kStepsInFlight];
        int done = request == nullptr, size = 0;
        if (request)
          if (ncclResult_t rc = comm_.table().test(request, &done, &size); rc != ncclSuccess)
            return call_failed("test", rc);
        if (!done) break;
        idle = false;
        if (++group.done == cut.steps) finished++;
      }
    }
    if (idle) {
      backoff_.idle();
    } else {
      backoff_.progressed();
      progressed = true;
    }
    if (++polls % 1024 != 0) continue;  // the clock is read rarely
    if (std::exchange(progressed, false)) {
      deadline = Deadline::after(patience);
    } else if (deadline.passed()) {
      return Error(Errc::kRemote, "no progress for " + std::to_string(patience.count() / 1000) + " s");
    }
  }
  return {};
}

}  // namespace fanin::perf
