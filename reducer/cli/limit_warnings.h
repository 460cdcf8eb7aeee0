// Limits that contradict each other or the host: each is taken as it was given, and said at start, because such a pool works
// until the day it is full.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "reducer/reducer.h"

namespace fanin::reducer::cli {

// A sentence for each. usable: bytes this process may use (host_limits.h).
std::vector<std::string> limit_warnings(const ReducerConfig& config, uint64_t usable);

}  // namespace fanin::reducer::cli
