// Whether NCCL would find and take the plugin, by the names and in the order it tries (docs/nccl-compatibility.md).
#pragma once
#include <string>

#include "perf/doctor/finding.h"
#include "perf/doctor/nccl_library.h"
#include "perf/doctor/variables.h"

namespace fanin::doctor {

// Whether NCCL would open an environment plugin that is fanin's.
bool finds_env_plugin(const NcclLibrary& nccl, const Variables& variables);

// The path of fanin's plugin as NCCL would open it; "": it would not, said as a failure. env_plugin: fanin's is there and
// reducers are named, so that NCCL_NET_PLUGIN need not be set.
std::string find_plugin(const NcclLibrary& nccl, const Variables& variables, bool env_plugin,
                        Findings& findings);

}  // namespace fanin::doctor
