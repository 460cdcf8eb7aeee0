#include "tests/nccl/ranks/loss.h"

#include <cuda_runtime_api.h>
#include <signal.h>
#include <unistd.h>

namespace ranks {
namespace {

constexpr int kRounds = 2000, kFatalRound = 5;
constexpr double kPatience = 20;  // seconds without an answer that count as a hang

}  // namespace

void abort_and_say(Rank& rank, ncclComm_t comm, cudaStream_t stream) {
  const double start = now();
  RANK_NCCL(rank, ncclCommAbort(comm));
  RANK_CUDA(rank, cudaStreamSynchronize(stream));
  rank.say("abort took %.3f s", now() - start);
}

void abort_in_flight(Rank& rank, ncclComm_t comm, const Values& values) {
  cudaStream_t stream;
  RANK_CUDA(rank, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  void* data;
  RANK_CUDA(rank, cudaMalloc(&data, rank.options.max_bytes));
  const size_t n = rank.options.max_bytes / values.size();
  if (rank.rank != 0) RANK_NCCL(rank, ncclAllReduce(data, data, n, values.type(), values.op(), comm, stream));
  usleep(300000);  // until the proxies have sent what they can
  abort_and_say(rank, comm, stream);
}

bool lose_in_flight(Rank& rank, ncclComm_t comm, const Values& values) {
  Shared& shared = rank.shared;
  cudaStream_t stream;
  RANK_CUDA(rank, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  void* data;
  RANK_CUDA(rank, cudaMalloc(&data, rank.options.max_bytes));
  const size_t n = rank.options.max_bytes / values.size();
  values.fill(data, n, 0, rank.rank);
  for (int round = 0; round < kRounds; round++) {
    if (round == kFatalRound && rank.options.extra == "lose-rank" && rank.rank == rank.options.ranks - 1) {
      shared.killed_at = now();
      kill(getpid(), SIGKILL);
    }
    ncclResult_t called = ncclAllReduce(data, data, n, values.type(), values.op(), comm, stream),
                 async = ncclSuccess;
    if (round == kFatalRound && rank.options.kill_pid && rank.rank == 0) {
      shared.killed_at = now();
      kill(rank.options.kill_pid, SIGKILL);
    }
    const double start = now();
    while (called == ncclSuccess && async == ncclSuccess && cudaStreamQuery(stream) == cudaErrorNotReady &&
           now() - start < kPatience) {
      usleep(500);
      RANK_NCCL(rank, ncclCommGetAsyncError(comm, &async));
    }
    const bool hung = cudaStreamQuery(stream) == cudaErrorNotReady && now() - start >= kPatience;
    if (called == ncclSuccess && async == ncclSuccess && !hung) continue;
    const double at = shared.killed_at;
    if (hung)
      rank.say("HUNG in round %d", round);
    else
      rank.say("error %d (%s) in round %d, %.3f s after the kill", static_cast<int>(called ? called : async),
               ncclGetErrorString(called ? called : async), round, at > 0 ? now() - at : -1.0);
    abort_and_say(rank, comm, stream);
    return !hung;
  }
  rank.say("no error in %d rounds", kRounds);
  return false;
}

}  // namespace ranks
