// How long the iterations of a group took, out of when they ended on each rank.
#pragma once
#include <vector>

#include "fanin/error.h"
#include "perf/common/group.h"

namespace fanin::perf {

// ends: seconds from a start all ranks share to the end of each iteration on this rank; as many on every rank. An iteration
// is over when the last rank is done, and lasts from the end of the one before. Sorted; the same on every rank. Collective.
Result<std::vector<double>> iteration_times(Group& group, const std::vector<double>& ends);

}  // namespace fanin::perf
