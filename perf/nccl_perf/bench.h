// What one rank does from start to end: every type, operator and size, out of place and in place, timed and
// checked.
#pragma once
#include <cstdint>

#include "fanin/error.h"
#include "perf/nccl_perf/options.h"
#include "perf/nccl_perf/team.h"

namespace fanin::nccl_perf {

// The number of wrong elements on all ranks together. Rank 0 prints.
Result<uint64_t> bench(Team& team, int thread, int device, bool polite, const Options& options);

}  // namespace fanin::nccl_perf
