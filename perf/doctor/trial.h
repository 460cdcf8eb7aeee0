// Reducers tried as a job would use them: two ranks on this host join them through the plugin and sum small messages.
//
// Everything happens in processes of its own, with the job's environment but for the pool, so that the plugin's options,
// secrets and network are the job's. Blocks for as long as the ranks take, at most `patience` and a bit.
#pragma once
#include <chrono>
#include <string>

#include "fanin/error.h"

namespace fanin::doctor {

struct TrialResult {
  double round_trip_s = 0;  // median of a summed 32 KiB message
};

// pool: as in FANIN_REDUCERS. Errors: the plugin's own last words. plugin: its path.
Result<TrialResult> try_pool(const std::string& plugin, const std::string& pool,
                             std::chrono::milliseconds patience);

}  // namespace fanin::doctor
