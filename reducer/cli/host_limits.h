// What this process may use of the host: CPU time and memory, as limited by cgroups (v1 and v2) and rlimits. Reads
// /proc and /sys; start-up only.
#pragma once
#include <cstdint>

namespace fanin::reducer::cli {

double cpu_quota();        // CPUs' worth of time; infinite without a limit
uint64_t usable_memory();  // bytes
void raise_open_files();   // soft limit on descriptors up to the hard one

}  // namespace fanin::reducer::cli
