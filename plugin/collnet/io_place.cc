#include "plugin/collnet/io_place.h"

#include "plugin/log.h"
#include "topology/host/read_host.h"
#include "topology/placement.h"
#include "transport/small_file.h"

namespace fanin::plugin::collnet {

Cpus io_cpus(const std::string& nic, unsigned threads) {
  const std::string nodes = first_line_of("/sys/devices/system/node/online");  // "0" or "0-1"
  const std::string mine = first_line_of("/sys/class/net/" + nic + "/device/numa_node");
  if (nodes.find_first_of("-,") == std::string::npos || mine.empty() || mine == "-1") return {};
  const OpenedHwloc hwloc;
  if (!hwloc.api()) {
    FANIN_INFO(NCCL_INIT | NCCL_NET, "libhwloc.so.15 is not installed: I/O threads are not placed near %s",
               nic.c_str());
    return {};
  }
  Result<HostView> host = read_host(*hwloc.api());
  if (!host) {
    FANIN_INFO(NCCL_INIT | NCCL_NET, "I/O threads are not placed near %s: %s", nic.c_str(),
               host.error().text().c_str());
    return {};
  }
  ThreadPlace place = place_io(*host, nic, threads);
  if (!place.cpus.empty())
    FANIN_INFO(NCCL_INIT | NCCL_NET, "I/O threads run near %s, on NUMA node %d, CPUs %s", nic.c_str(),
               place.node, cpus_text(place.cpus).c_str());
  return place.cpus;
}

}  // namespace fanin::plugin::collnet
