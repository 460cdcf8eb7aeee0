// All ranks of a run as processes of this machine.
#pragma once
#include "perf/fanin_perf/options.h"

namespace fanin::perf {

// Starts reducers if asked for, then the ranks, waits for all and ends what is left when one fails. Returns
// the exit code: 0, 1 with the cause on stderr.
int run_local(const Options& options);
// This process as one rank.
int run_single(const Options& options);

}  // namespace fanin::perf
