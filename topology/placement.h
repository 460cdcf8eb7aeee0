// Where threads that move the data of a NIC run: a pure decision over a HostView, which has only CPUs this process may use.
//
// An empty answer: leave them to the kernel, which is better than pinning where threads would have to share cores.
#pragma once
#include <string>
#include <vector>

#include "topology/host_view.h"

namespace fanin {

struct ThreadPlace {
  Cpus cpus;      // to run on
  int node = -1;  // whose memory to use; -1: any
};

// How many lanes a reducer takes by itself: one per physical core, no more than the CPU time it may use fills. quota: CPUs'
// worth of time, as a cgroup allows; infinite where there is no limit. At least 1.
unsigned lanes_by_cores(const HostView& host, double quota);

// For each of a reducer's lanes. Where there is a physical core for each lane and two more for everything else: a core each,
// those on the NICs' NUMA nodes first. Where there is a hardware thread for each and several nodes: a node each, filled in
// that order. Otherwise empty. nics: names, unknown ones are left out of account.
std::vector<ThreadPlace> place_lanes(const HostView& host, const std::vector<std::string>& nics,
                                     unsigned lanes);

// For a worker's I/O threads, all alike: the CPUs on the NIC's NUMA node, where that is a part of the host and has room for
// the threads beside another one.
ThreadPlace place_io(const HostView& host, const std::string& nic, unsigned threads);

}  // namespace fanin
