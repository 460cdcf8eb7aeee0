// What the environment of a job says about its pool and its workers, as values for plan's options: fanin-topo check.
#pragma once
#include <map>
#include <string>

#include "fanin/error.h"

namespace fanin::topo {

// Fills "reducers" from the pool as the plugin resolves it, "worker-bw" from the NICs it would use on this host, "workers" from
// Slurm, each where it is "" yet. Resolves names: blocks. Returns a line that says what was found.
Result<std::string> ask_job(std::map<std::string, std::string>& values);

}  // namespace fanin::topo
