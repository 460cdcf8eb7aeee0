// What all ranks of a run share, across processes: NCCL's unique ids, a barrier, counts of wrong results,
// hashes of results and the time of a kill. Lives in an anonymous shared mapping made before the ranks are
// forked.
#pragma once
#include <nccl.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tests/nccl/ranks/options.h"

namespace ranks {

inline constexpr int kMaxRanks = 128, kMaxComms = 2;

struct Shared {
  ncclUniqueId id[kMaxComms];
  std::atomic<bool> id_ready[kMaxComms];
  std::atomic<int> arrived;
  std::atomic<int> wrong;         // results that were not right
  std::atomic<bool> failed;       // a rank gave up: nobody waits any longer
  std::atomic<double> killed_at;  // monotonic seconds; 0: nobody was killed
  std::atomic<bool> stop;         // endure: told to end soon
  std::atomic<int> last_round;    // endure: chosen by rank 0; 0: none yet
  uint64_t hash[kMaxRanks];
};
static_assert(std::atomic<double>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

// One rank's view of the run.
struct Rank {
  const Options& options;
  Shared& shared;
  int rank;
  int barriers = 0;

  // Returns when all ranks have called it as often; ends the process when another rank failed.
  void barrier();
  // Waits for rank 0's id and joins its communicator.
  ncclComm_t join(int slot);
  // printf with "rank N: " before it and a newline behind it, in one write.
  void say(const char* format, ...) const __attribute__((format(printf, 2, 3)));
  // The same on stderr; then no rank waits any longer and this process ends.
  [[noreturn]] void give_up(const char* format, ...) const __attribute__((format(printf, 2, 3)));
};

double now();  // monotonic seconds, the same clock in all ranks

// Gives up unless the call succeeds.
#define RANK_NCCL(rank, call)                                                                  \
  do {                                                                                         \
    const ncclResult_t r_ = (call);                                                            \
    if (r_ != ncclSuccess)                                                                     \
      (rank).give_up("%s: %s (%s)", #call, ncclGetErrorString(r_), ncclGetLastError(nullptr)); \
  } while (0)
#define RANK_CUDA(rank, call)                                                       \
  do {                                                                              \
    const cudaError_t r_ = (call);                                                  \
    if (r_ != cudaSuccess) (rank).give_up("%s: %s", #call, cudaGetErrorString(r_)); \
  } while (0)

}  // namespace ranks
