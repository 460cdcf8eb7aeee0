// On which CPUs a communicator's I/O threads run: near the NIC, where hwloc is installed and the host has a choice.
#pragma once
#include "topology/host_view.h"

namespace fanin::plugin::collnet {

// Empty: wherever the kernel puts them. Within the calling thread's CPUs. Opens hwloc only on a host of several NUMA nodes,
// and for a NIC that is on one of them; milliseconds then. Service threads.
Cpus io_cpus(const std::string& nic, unsigned threads);

}  // namespace fanin::plugin::collnet
