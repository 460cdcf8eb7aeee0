// Whether the variables let NCCL use CollNet and fanin: what is missing, off, or in the way.
#pragma once
#include "perf/doctor/finding.h"
#include "perf/doctor/nccl_library.h"
#include "perf/doctor/plugin_library.h"
#include "perf/doctor/variables.h"

namespace fanin::doctor {

// NCCL_COLLNET_ENABLE, and who sets it. env_plugin: fanin's, or null. net_plugin_may: reducers are named and FANIN_COLLNET is
// not 0.
void check_collnet(const NcclLibrary& nccl, const Variables& variables, GetEnv env_plugin,
                   bool net_plugin_may, Findings& findings);

// NCCL_ALGO, NCCL_PROTO, NCCL_NET, NCCL_TUNER_PLUGIN, NCCL_COLLNET_NODE_THRESHOLD, LD_LIBRARY_PATH. workers: nodes of the
// job, 0: not known. tuner: FANIN_TUNER.
void check_conflicts(const NcclLibrary& nccl, const Variables& variables, unsigned workers, bool tuner,
                     Findings& findings);

// The file of rules for fanin's tuner (FANIN_TUNER_FILE; empty: none): that it can be read, and each line of it.
void check_rules(const std::string& path, Findings& findings);

}  // namespace fanin::doctor
