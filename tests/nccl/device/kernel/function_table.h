// Device functions by the ids NCCL puts into a kernel's work. Read once from libnccl's own table; any thread.
#pragma once
#include <span>
#include <vector>

#include "tests/nccl/device/kernel/work.h"

namespace cpudev {

// row_to_id: ncclDevFuncRowToId without its end mark: the id of each function in NCCL's order, -1 where it
// has none. Rows that share an id are alike for our purposes: the first names it. The number of rows tells which release's
// order it is; none is returned where it is no release's.
std::vector<DeviceFunction> number_functions(std::span<const int> row_to_id);
// Nothing (coll < 0) for an unknown id.
DeviceFunction device_function(unsigned id);

}  // namespace cpudev
