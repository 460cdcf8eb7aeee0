// Runs in which something goes wrong on purpose. Each rank says what it saw and how long that took.
#pragma once
#include <cuda_runtime_api.h>

#include <nccl.h>

#include "tests/nccl/ranks/values.h"
#include "tests/nccl/ranks/world.h"

namespace ranks {

// Rank 0 never joins an all-reduce of the others; then everybody aborts.
void abort_in_flight(Rank& rank, ncclComm_t comm, const Values& values);

// All-reduces in a loop. After a few rounds rank 0 kills options.kill_pid (lose-reducer) or the last rank
// itself (lose-rank); every rank must get an asynchronous error, and then aborts. False: this rank saw none.
bool lose_in_flight(Rank& rank, ncclComm_t comm, const Values& values);

// ncclCommAbort, and how long it took.
void abort_and_say(Rank& rank, ncclComm_t comm, cudaStream_t stream);

}  // namespace ranks
