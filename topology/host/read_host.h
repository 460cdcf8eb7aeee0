// Reads a host, this one or one exported as XML, into a HostView.
//
// This host: what its cgroup and affinity mask leave to the calling thread, with the network links' rates as the kernel
// tells them. Milliseconds, reads /proc and /sys, initialises no GPU: start-up and connect time only. Any thread.
#pragma once
#include "fanin/error.h"
#include "topology/host/hwloc_api.h"
#include "topology/host_view.h"

namespace fanin {

// xml: a file as lstopo writes it (hwloc 2), or "" for this host.
Result<HostView> read_host(const HwlocApi& hwloc, const std::string& xml = "");

}  // namespace fanin
