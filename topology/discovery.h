// Where a job's reducers are named: the first of these that is set decides (docs/discovery.md).
//
//   FANIN_REDUCERS   what resolve_pool takes, or slurm:port, slurm:group:port (the hosts of a component of a heterogeneous
//                    job), or none
//   CLUSTER_SPEC     Vertex AI: the tasks of worker pool 2
//   TF_CONFIG        the tasks called ps
//
// Pure but for `lookup`; nothing is resolved here.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "fanin/error.h"

namespace fanin {

// The value of an environment variable, or "".
using EnvLookup = std::function<std::string(const std::string&)>;
std::string from_process(const std::string& variable);

struct PoolSource {
  std::string from = "";     // the variable that decided; empty: none of them is set
  std::string spec = "";     // for resolve_pool; empty: no reducers
  std::string trouble = "";  // spec is empty although something is set: why, one line
  bool off = false;          // FANIN_REDUCERS=none
  size_t expect = 0;         // how many reducers the platform says there are; 0: it does not say
};

PoolSource discover_pool(const EnvLookup& lookup = from_process);

// The port this process should listen on as the reducer it is in CLUSTER_SPEC or TF_CONFIG; 0: neither is set.
Result<uint16_t> discover_own_port(const EnvLookup& lookup);

}  // namespace fanin
