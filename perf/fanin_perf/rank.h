// One rank of a run: loads the plugin, connects, measures every size on a progress thread, closes.
#pragma once
#include "perf/common/group.h"
#include "perf/fanin_perf/local_reducers.h"
#include "perf/fanin_perf/options.h"

namespace fanin::perf {

// crowded: more ranks than cores share this machine. Errors say what failed on this rank; wrong elements are
// an error of rank 0.
Status run_rank(const Options& options, Group group, const LocalReducers& reducers, bool crowded);

}  // namespace fanin::perf
