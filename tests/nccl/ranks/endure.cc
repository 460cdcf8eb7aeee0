#include "tests/nccl/ranks/endure.h"

#include <cuda_runtime_api.h>
#include <unistd.h>

#include <numeric>

#include "tests/nccl/ranks/loss.h"

namespace ranks {
namespace {

constexpr double kPatience = 20;  // seconds without an answer that count as a hang

enum class Round { kDone, kError, kHung };

Round wait_for(Rank& rank, ncclComm_t comm, cudaStream_t stream, ncclResult_t* error) {
  const double start = now();
  while (*error == ncclSuccess && cudaStreamQuery(stream) == cudaErrorNotReady) {
    if (now() - start > kPatience) return Round::kHung;
    usleep(300);
    RANK_NCCL(rank, ncclCommGetAsyncError(comm, error));
  }
  return *error == ncclSuccess ? Round::kDone : Round::kError;
}

}  // namespace

void say_pid(const Rank& rank) { rank.say("pid %d", getpid()); }

bool endure(Rank& rank, ncclComm_t comm, const Values& values) {
  Shared& shared = rank.shared;
  std::vector<int> all(static_cast<size_t>(rank.options.ranks));
  std::iota(all.begin(), all.end(), 0);
  cudaStream_t stream;
  RANK_CUDA(rank, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  void *send, *recv;
  RANK_CUDA(rank, cudaMalloc(&send, rank.options.max_bytes));
  RANK_CUDA(rank, cudaMalloc(&recv, rank.options.max_bytes));
  const size_t n = rank.options.max_bytes / values.size();
  for (int round = 1;; round++) {
    // Rank 0 chooses the last round before it takes part in it; until then nobody can have ended that round.
    if (rank.rank == 0 && shared.stop && shared.last_round == 0) shared.last_round = round;
    const size_t first = static_cast<size_t>(round) * 257;
    values.fill(send, n, first, rank.rank);
    ncclResult_t error = ncclAllReduce(send, recv, n, values.type(), values.op(), comm, stream);
    const Round end = wait_for(rank, comm, stream, &error);
    if (end != Round::kDone) {
      if (end == Round::kHung)
        rank.say("HUNG in round %d", round);
      else
        rank.say("error %d (%s) in round %d", static_cast<int>(error), ncclGetErrorString(error), round);
      abort_and_say(rank, comm, stream);
      return end == Round::kError;
    }
    std::string example;
    if (const size_t wrong = values.check(recv, n, first, all, &example); wrong > 0) {
      shared.wrong += static_cast<int>(wrong);
      rank.say("WRONG: %zu elements in round %d: %s", wrong, round, example.c_str());
    }
    if (round == 1) rank.say("running");
    if (const int last = shared.last_round; last != 0 && last <= round) {
      RANK_NCCL(rank, ncclCommFinalize(comm));
      RANK_NCCL(rank, ncclCommDestroy(comm));
      rank.say("right after %d rounds", round);
      return true;
    }
  }
}

}  // namespace ranks
