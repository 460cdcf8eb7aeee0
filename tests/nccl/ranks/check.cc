#include "tests/nccl/ranks/check.h"

#include <cuda_runtime_api.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace ranks {
namespace {

constexpr size_t kGuard = 64;  // bytes behind a buffer that must stay as they are
constexpr char kGuardByte = 0x5a;

// Device memory (of the CPU device: directly readable) with a guard behind it.
class Buffer {
 public:
  Buffer(const Rank& rank, size_t bytes) : rank_(rank), bytes_(bytes) {
    RANK_CUDA(rank_, cudaMalloc(reinterpret_cast<void**>(&data_), bytes + kGuard));
    memset(data_ + bytes, kGuardByte, kGuard);
  }
  ~Buffer() { cudaFree(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  char* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  bool guard_intact() const {
    return std::all_of(data_ + bytes_, data_ + bytes_ + kGuard, [](char c) { return c == kGuardByte; });
  }

 private:
  const Rank& rank_;
  char* data_ = nullptr;
  size_t bytes_;
};

class Registration {
 public:
  Registration(const Rank& rank, ncclComm_t comm, const Buffer& buffer) : comm_(comm) {
    if (rank.options.registered)
      RANK_NCCL(rank, ncclCommRegister(comm, buffer.data(), buffer.bytes(), &handle_));
  }
  ~Registration() {
    if (handle_) ncclCommDeregister(comm_, handle_);
  }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

 private:
  ncclComm_t comm_;
  void* handle_ = nullptr;
};

// Waits for the stream as a job with a watchdog does: an error of the communicator ends it, where
// cudaStreamSynchronize alone would wait for ever.
void finish(const Rank& rank, ncclComm_t comm, cudaStream_t stream) {
  for (int waits = 0; cudaStreamQuery(stream) == cudaErrorNotReady; waits++) {
    ncclResult_t error;
    RANK_NCCL(rank, ncclCommGetAsyncError(comm, &error));
    if (error != ncclSuccess) rank.give_up("asynchronous error %d (%s)", error, ncclGetErrorString(error));
    usleep(waits < 100 ? 50 : 500);
  }
}

// One collective of a communicator: how it is called, and which input elements each output element comes
// from.
class Collective {
 public:
  Collective(Rank& rank, ncclComm_t comm, const std::vector<int>& members, const std::string& coll,
             const Values& values)
      : rank_(rank), comm_(comm), members_(members), values_(values), coll_(coll) {
    RANK_NCCL(rank_, ncclCommUserRank(comm, &me_));
    RANK_CUDA(rank_, cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~Collective() { cudaStreamDestroy(stream_); }
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;

  size_t total() const { return members_.size(); }
  size_t me() const { return static_cast<size_t>(me_); }

  void run(const void* in, void* out, size_t n) {
    const size_t part = n / total();
    const int next = static_cast<int>((me() + 1) % total()),
              last = static_cast<int>((me() + total() - 1) % total());
    const auto type = values_.type();
    const auto op = values_.op();
    if (coll_ == "allreduce") {
      RANK_NCCL(rank_, ncclAllReduce(in, out, n, type, op, comm_, stream_));
    } else if (coll_ == "reducescatter") {
      RANK_NCCL(rank_, ncclReduceScatter(in, out, part, type, op, comm_, stream_));
    } else if (coll_ == "allgather") {
      RANK_NCCL(rank_, ncclAllGather(in, out, part, type, comm_, stream_));
    } else if (coll_ == "broadcast") {
      RANK_NCCL(rank_, ncclBroadcast(in, out, n, type, 0, comm_, stream_));
    } else if (coll_ == "reduce") {
      RANK_NCCL(rank_, ncclReduce(in, out, n, type, op, 0, comm_, stream_));
    } else {
      RANK_NCCL(rank_, ncclGroupStart());
      RANK_NCCL(rank_, ncclSend(in, n, type, next, comm_, stream_));
      RANK_NCCL(rank_, ncclRecv(out, n, type, last, comm_, stream_));
      RANK_NCCL(rank_, ncclGroupEnd());
    }
    finish(rank_, comm_, stream_);
  }

  // Output elements that are wrong.
  size_t check(const char* out, size_t n, std::string* example) const {
    const size_t part = n / total();
    if (coll_ == "allreduce") return values_.check(out, n, 0, members_, example);
    if (coll_ == "reduce") return me_ == 0 ? values_.check(out, n, 0, members_, example) : 0;
    if (coll_ == "broadcast") return values_.check(out, n, 0, {members_[0]}, example);
    if (coll_ == "sendrecv")
      return values_.check(out, n, 0, {members_[(me() + total() - 1) % total()]}, example);
    if (coll_ == "reducescatter") return values_.check(out, part, part * me(), members_, example);
    size_t wrong = 0;
    for (size_t k = 0; k < total(); k++)
      wrong += values_.check(out + k * part * values_.size(), part, 0, {members_[k]}, example);
    return wrong;
  }

  // Where output and input are in one buffer.
  char* in_place_in(char* p, size_t n) const {
    return coll_ == "allgather" ? p + n / total() * me() * values_.size() : p;
  }
  char* in_place_out(char* p, size_t n) const {
    return coll_ == "reducescatter" ? p + n / total() * me() * values_.size() : p;
  }
  bool has_in_place() const { return coll_ != "sendrecv"; }
  size_t input_elements(size_t n) const { return coll_ == "allgather" ? n / total() : n; }
  size_t output_bytes(size_t n) const {
    if (coll_ == "reduce" && me_ != 0) return 0;
    return (coll_ == "reducescatter" ? n / total()
            : coll_ == "allgather"   ? n / total() * total()
                                     : n) *
           values_.size();
  }

 private:
  Rank& rank_;
  ncclComm_t comm_;
  const std::vector<int>& members_;
  const Values& values_;
  const std::string& coll_;
  int me_ = 0;
  cudaStream_t stream_ = nullptr;
};

void report(Rank& rank, const char* what, size_t bytes, size_t wrong, const std::string& example) {
  if (!wrong) return;
  rank.shared.wrong++;
  rank.say("WRONG %s, %zu bytes: %zu elements; %s", what, bytes, wrong, example.c_str());
}

}  // namespace

void check_collective(Rank& rank, ncclComm_t comm, const std::vector<int>& members, const std::string& name,
                      const Values& values) {
  const Options& o = rank.options;
  const Buffer in(rank, o.max_bytes), out(rank, o.max_bytes);
  const Registration keep_in(rank, comm, in), keep_out(rank, comm, out);
  Collective coll(rank, comm, members, name, values);
  uint64_t& hash = rank.shared.hash[rank.rank];
  const int world_rank = members[coll.me()];
  for (size_t bytes = o.min_bytes; bytes <= o.max_bytes; bytes *= o.factor) {
    const size_t n = bytes / values.size();
    std::string example;
    values.fill(in.data(), coll.input_elements(n), 0, world_rank);
    double seconds = 0;
    for (int k = 0; k <= o.iterations; k++) {
      memset(out.data(), 0xee, bytes);
      const double start = now();
      coll.run(in.data(), out.data(), n);
      seconds = now() - start;
      report(rank, "out of place", bytes, coll.check(out.data(), n, &example), example);
    }
    hash = hash_bytes(hash, out.data(), coll.output_bytes(n));
    if (coll.has_in_place()) {
      if (name == "allgather") memset(in.data(), 0xee, bytes);
      values.fill(coll.in_place_in(in.data(), n), coll.input_elements(n), 0, world_rank);
      char* result = coll.in_place_out(in.data(), n);
      coll.run(coll.in_place_in(in.data(), n), result, n);
      report(rank, "in place", bytes, coll.check(result, n, &example), example);
      hash = hash_bytes(hash, result, coll.output_bytes(n));
    }
    if (!in.guard_intact() || !out.guard_intact())
      report(rank, "bytes behind the buffer", bytes, 1, "overwritten");
    rank.barrier();
    if (rank.rank == 0)
      rank.say("%s %s %zu bytes %.3f ms %s", name.c_str(), values.name().c_str(), bytes, seconds * 1e3,
               rank.shared.wrong ? "WRONG" : "ok");
    rank.barrier();
  }
}

void check_all(Rank& rank, ncclComm_t comm, const std::vector<int>& members) {
  const Options& o = rank.options;
  for (const std::string& coll : o.colls)
    for (const std::string& type : o.types)
      for (const std::string& op : o.ops)
        check_collective(rank, comm, members, coll, *make_values(type, op, o.round_once));
}

void check_group(Rank& rank, ncclComm_t comm, const std::vector<int>& members, const Values& values) {
  constexpr size_t kCalls = 7;
  std::vector<std::unique_ptr<Buffer>> buffers;
  const auto elements = [&](size_t call) { return (rank.options.max_bytes >> call) / values.size(); };
  for (size_t j = 0; j < kCalls; j++) {
    buffers.push_back(std::make_unique<Buffer>(rank, rank.options.max_bytes));
    values.fill(buffers[j]->data(), elements(j), j, rank.rank);
  }
  cudaStream_t stream;
  RANK_CUDA(rank, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  RANK_NCCL(rank, ncclGroupStart());
  for (size_t j = 0; j < kCalls; j++)
    RANK_NCCL(rank, ncclAllReduce(buffers[j]->data(), buffers[j]->data(), elements(j), values.type(),
                                  values.op(), comm, stream));
  RANK_NCCL(rank, ncclGroupEnd());
  finish(rank, comm, stream);
  for (size_t j = 0; j < kCalls; j++) {
    std::string example;
    report(rank, "group", elements(j) * values.size(),
           values.check(buffers[j]->data(), elements(j), j, members, &example), example);
    rank.shared.hash[rank.rank] =
        hash_bytes(rank.shared.hash[rank.rank], buffers[j]->data(), elements(j) * values.size());
  }
  RANK_CUDA(rank, cudaStreamDestroy(stream));
}

}  // namespace ranks
