#include "perf/nccl_perf/rank.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

// NCCL 2.19's; the program also runs with an older library than it was built with.
#pragma weak ncclCommRegister

namespace fanin::nccl_perf {
namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kStaging = 4 << 20;
constexpr size_t kBatch = 64;  // operations; CUDA queues about a thousand launches

double seconds_since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }
ncclDataType_t nccl_type(DType t) { return static_cast<ncclDataType_t>(t); }
ncclRedOp_t nccl_op(perf::CheckOp op) { return static_cast<ncclRedOp_t>(op); }
static_assert(ncclFloat32 == static_cast<int>(DType::kF32) &&
              ncclAvg == static_cast<int>(perf::CheckOp::kAvg));

}  // namespace

Result<std::unique_ptr<Rank>> Rank::make(Team& team, int thread, int device, bool polite,
                                         const Options& options) {
  std::unique_ptr<Rank> r(new Rank(team, thread, device, polite, options));
  if (Status s = r->set_up(); !s) return s.error();
  return r;
}

Status Rank::set_up() {
  if (Status s = cuda_status("cudaSetDevice", cudaSetDevice(device_)); !s) return s;
  ncclUniqueId id{};
  std::string text;
  if (rank_ == 0) {
    if (Status s = nccl_status("ncclGetUniqueId", ncclGetUniqueId(&id)); !s) return s;
    text.assign(reinterpret_cast<const char*>(&id), sizeof id);
  }
  Result<std::vector<std::string>> all = team_.exchange(thread_, text);
  if (!all) return all.error();
  if (all->front().size() != sizeof id) return Error(Errc::kRemote, "rank 0 sent no NCCL id");
  memcpy(&id, all->front().data(), sizeof id);

  Result<Comm> comm = Comm::make(team_.nranks(), id, rank_);
  if (!comm) return comm.error();
  comm_ = *std::move(comm);
  Result<Stream> stream = Stream::make();
  if (!stream) return stream.error();
  stream_ = *std::move(stream);
  for (Event& e : batches_) {
    Result<Event> made = Event::make();
    if (!made) return made.error();
    e = *std::move(made);
  }
  for (DeviceBuffer* b : {&send_, &recv_}) {
    Result<DeviceBuffer> made = DeviceBuffer::make(options_.max_bytes);
    if (!made) return made.error();
    *b = *std::move(made);
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 19, 0)
    // The registration ends with the communicator.
    void* handle;
    if (options_.register_buffers && options_.max_bytes > 0) {
      if (!ncclCommRegister) return Error(Errc::kInvalidUsage, "-R needs NCCL 2.19 or later");
      if (Status s =
              nccl_status("ncclCommRegister",
                          ncclCommRegister(comm_.get(), b->data(), options_.max_bytes, &handle), comm_.get());
          !s)
        return s;
    }
#endif
  }
  int major = 0, version = 0;
  if (Status s = cuda_status("cudaDeviceGetAttribute",
                             cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device_));
      !s)
    return s;
  if (Status s = nccl_status("ncclGetVersion", ncclGetVersion(&version)); !s) return s;
  fp8_ = major >= 9 && version >= 22400;
  return {};
}

std::string Rank::description() const {
  char host[256] = "?", bus[32] = "?", line[1024];
  gethostname(host, sizeof host - 1);
  cudaDeviceGetPCIBusId(bus, sizeof bus, device_);
  if (char* function = strrchr(bus, '.')) *function = 0;
  cudaDeviceProp prop{};
  cudaGetDeviceProperties(&prop, device_);
  snprintf(line, sizeof line, "Rank %2d Group %2d Pid %6d on %10s device %2d [%s] %s", rank_, 0, getpid(),
           host, device_, bus, prop.name);
  return line;
}

// Iterations walk through the buffers, so that small sizes do not only ever touch what is cached.
Status Rank::start(const Case& c, size_t iteration) {
  const size_t size = dtype_size(c.type), bytes = c.shape.largest() * size;
  const size_t steps = bytes ? std::max<size_t>(options_.max_bytes / bytes, 1) : 1;
  const size_t shift = bytes * (iteration % steps);
  char *send = send_.data() + shift, *recv = recv_.data() + shift;
  const size_t mine = static_cast<size_t>(rank_) * c.shape.count * size;
  ncclResult_t rc = ncclInternalError;
  const char* call = "";
  switch (options_.coll) {
    case Coll::kAllReduce:
      call = "ncclAllReduce";
      rc = ncclAllReduce(c.in_place ? recv : send, recv, c.shape.count, nccl_type(c.type), nccl_op(c.op),
                         comm_.get(), stream_.get());
      break;
    case Coll::kAllGather:
      call = "ncclAllGather";
      rc = ncclAllGather(c.in_place ? recv + mine : send, recv, c.shape.count, nccl_type(c.type), comm_.get(),
                         stream_.get());
      break;
    case Coll::kReduceScatter:
      call = "ncclReduceScatter";
      rc = ncclReduceScatter(c.in_place ? recv : send, c.in_place ? recv + mine : recv, c.shape.count,
                             nccl_type(c.type), nccl_op(c.op), comm_.get(), stream_.get());
      break;
  }
  return nccl_status(call, rc, comm_.get());
}

template <class Query>
Status Rank::wait_for(const char* call, Query query) {
  const Clock::time_point started = Clock::now();
  for (unsigned looks = 0;; looks++) {
    const cudaError_t rc = query();
    if (rc == cudaSuccess) return {};
    if (rc != cudaErrorNotReady) return cuda_status(call, rc);
    ncclResult_t state = ncclSuccess;
    if (Status s =
            nccl_status("ncclCommGetAsyncError", ncclCommGetAsyncError(comm_.get(), &state), comm_.get());
        !s)
      return s;
    if (state != ncclSuccess && state != ncclInProgress)
      return nccl_status("an operation failed", state, comm_.get());
    if (team_.failed()) return Error(Errc::kRemote, "another rank failed");
    if (options_.timeout_s > 0 && seconds_since(started) > options_.timeout_s)
      return Error(Errc::kRemote,
                   "no end of the operation within " + std::to_string(options_.timeout_s) + " s (--timeout)");
    if (polite_ && looks > 20) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    } else {
      std::this_thread::yield();
    }
  }
}

Status Rank::wait() {
  return wait_for("cudaStreamQuery", [this] { return cudaStreamQuery(stream_.get()); });
}

// Keeps one to two batches of operations in the stream's queue: enough to keep the GPU busy, and never so many that a launch
// blocks in CUDA, where nobody would notice that the communicator has failed.
Status Rank::throttle(size_t started) {
  if (started % kBatch != 0) return {};
  const cudaEvent_t event = batches_[started / kBatch % 2].get();
  // Not recorded yet counts as passed.
  if (Status s = wait_for("cudaEventQuery", [event] { return cudaEventQuery(event); }); !s) return s;
  return cuda_status("cudaEventRecord", cudaEventRecord(event, stream_.get()));
}

Status Rank::warm_up(const Case& c) {
  for (size_t i = 0; i < static_cast<size_t>(options_.warmup); i++) {
    if (Status s = start(c, i); !s) return s;
    if (Status s = throttle(i + 1); !s) return s;
  }
  return wait();
}

Result<double> Rank::time(const Case& c) {
  // One operation first, so that no rank is still at the last size; then all start together.
  if (Status s = start(c, 0); !s) return s.error();
  if (Status s = wait(); !s) return s.error();
  if (Status s = team_.barrier(thread_); !s) return s.error();
  const Clock::time_point started = Clock::now();
  for (int i = 0; i < options_.iters; i++) {
    if (options_.agg_iters > 1)
      if (Status s = nccl_status("ncclGroupStart", ncclGroupStart()); !s) return s.error();
    for (int k = 0; k < options_.agg_iters; k++)
      if (Status s = start(
              c, static_cast<size_t>(i) * static_cast<size_t>(options_.agg_iters) + static_cast<size_t>(k));
          !s)
        return s.error();
    if (options_.agg_iters > 1)
      if (Status s = nccl_status("ncclGroupEnd", ncclGroupEnd(), comm_.get()); !s) return s.error();
    if (Status s = throttle(static_cast<size_t>(i) + 1); !s) return s.error();
    if (options_.blocking) {
      if (Status s = wait(); !s) return s.error();
      if (Status s = team_.barrier(thread_); !s) return s.error();
    }
  }
  const double launched = seconds_since(started);
  if (Status s = wait(); !s) return s.error();
  const double total = options_.cputime ? launched : seconds_since(started);
  return total / options_.iters / options_.agg_iters;
}

Status Rank::upload(const perf::Checker& checker, uint64_t first, char* to, size_t elements, size_t size) {
  staging_.resize(kStaging);
  for (size_t done = 0; done < elements;) {
    const size_t n = std::min(elements - done, kStaging / size);
    checker.fill(rank_, first + done, staging_.data(), n);
    if (Status s = cuda_status(
            "cudaMemcpy", cudaMemcpy(to + done * size, staging_.data(), n * size, cudaMemcpyHostToDevice));
        !s)
      return s;
    done += n;
  }
  return {};
}

Result<uint64_t> Rank::check(const Case& c, const perf::Checker& checker) {
  const size_t size = dtype_size(c.type), part = c.shape.count * size;
  const uint64_t first = runs_++ * 257;  // other values in every run: what an earlier one left is wrong now
  const size_t me = static_cast<size_t>(rank_);
  // Whatever is not overwritten shows: NaN in every float type, far off in the others.
  if (Status s = cuda_status("cudaMemset", cudaMemset(recv_.data(), 0xff, c.shape.largest() * size)); !s)
    return s.error();
  char* input = c.in_place ? recv_.data() : send_.data();
  if (c.in_place && options_.coll == Coll::kAllGather) input += me * part;
  if (Status s = upload(checker, first, input, c.shape.send, size); !s) return s.error();
  if (Status s = cuda_status("cudaDeviceSynchronize", cudaDeviceSynchronize()); !s) return s.error();
  if (Status s = start(c, 0); !s) return s.error();
  if (Status s = wait(); !s) return s.error();

  uint64_t wrong = 0;
  const char* output = recv_.data();
  if (c.in_place && options_.coll == Coll::kReduceScatter) output += me * part;
  // Pieces of one rank's part, so that each has one expectation.
  const size_t parts = options_.coll == Coll::kAllGather ? static_cast<size_t>(team_.nranks()) : 1;
  for (size_t p = 0; p < parts; p++) {
    for (size_t done = 0; done < c.shape.count;) {
      const size_t n = std::min(c.shape.count - done, kStaging / size);
      const char* from = output + p * part + done * size;
      if (Status s =
              cuda_status("cudaMemcpy", cudaMemcpy(staging_.data(), from, n * size, cudaMemcpyDeviceToHost));
          !s)
        return s.error();
      if (options_.coll == Coll::kAllGather) {
        wrong += checker.count_wrong_copy(static_cast<int>(p), first + done, staging_.data(), n);
      } else {
        const size_t offset = options_.coll == Coll::kReduceScatter ? me * c.shape.count : 0;
        wrong += checker.count_wrong(first + offset + done, staging_.data(), n);
      }
      done += n;
    }
  }
  return wrong;
}

}  // namespace fanin::nccl_perf
