// One process of a run: meets the others, runs a thread per GPU, reports.
#pragma once
#include "perf/nccl_perf/options.h"
#include "perf/nccl_perf/placement.h"
#include "transport/fd.h"

namespace fanin::nccl_perf {

// listener: where process 0 waits for the others, when it exists already. polite: see Rank. share_devices:
// devices are taken modulo what there is (nodes that are pretended). Returns the process's exit code; prints
// at most one error.
int run_process(const Options& options, const Placement& placement, Fd listener, bool polite,
                bool share_devices);

}  // namespace fanin::nccl_perf
