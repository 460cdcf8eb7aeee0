// Where the calling thread runs, and whose memory a mapping gets. Plain system calls; CPUs as the kernel numbers them.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "fanin/error.h"

namespace fanin {

// Ascending; empty when the kernel does not tell.
std::vector<unsigned> affinity_of_this_thread();
// A host may refuse: CPUs outside the cgroup's.
Status run_this_thread_on(std::span<const unsigned> cpus);
// Pages of this mapping that are not there yet come from this NUMA node as long as it has some. A container may forbid it;
// then they come from where the thread runs that first touches them, which is as good when it is pinned.
Status prefer_node(void* mapping, size_t bytes, int node);

}  // namespace fanin
