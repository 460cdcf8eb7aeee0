// --nodes: one machine plays several. Forks a process per node (or per GPU), each node with an NCCL_HOSTID of
// its own, so that NCCL takes the network between them.
#pragma once
#include "perf/nccl_perf/options.h"

namespace fanin::nccl_perf {

// Must be called before anything touches CUDA or NCCL: both do not survive a fork. The exit code is the worst
// one; when one process ends badly the others get a while to report, then are killed. SIGINT and SIGTERM end
// them all.
int run_nodes(const Options& options);

}  // namespace fanin::nccl_perf
