// What this process may use of the host: cores and memory, as limited by affinity, cgroups (v1 and v2) and
// rlimits. Reads /proc and /sys; start-up only.
#pragma once
#include <cstdint>

namespace fanin::reducer::cli {

unsigned usable_cores();   // at least 1
uint64_t usable_memory();  // bytes
void raise_open_files();   // soft limit on descriptors up to the hard one

}  // namespace fanin::reducer::cli
