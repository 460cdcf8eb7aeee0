// Whether NCCL would find and take the plugin, by the names and in the order it tries (docs/nccl-compatibility.md).
#pragma once
#include <string>

#include "perf/doctor/finding.h"
#include "perf/doctor/nccl_library.h"
#include "perf/doctor/variables.h"

namespace fanin::doctor {

// What an environment plugin is asked: the value of a variable, or null. It looks at this process's environment.
using GetEnv = const char* (*)(const char* name);
// That of the environment plugin which NCCL would open, if it is fanin's; else null.
GetEnv find_env_plugin(const NcclLibrary& nccl, const Variables& variables);

// The path of fanin's plugin as NCCL would open it; "": it would not, said as a failure. env_plugin: fanin's, or null.
std::string find_plugin(const NcclLibrary& nccl, const Variables& variables, GetEnv env_plugin,
                        Findings& findings);

}  // namespace fanin::doctor
