#include "topology/host_view.h"

#include <algorithm>
#include <map>

namespace fanin {

Distance distance(const HostView::Device& a, const HostView::Device& b) {
  const size_t depth = std::min(a.bridges.size(), b.bridges.size());
  size_t shared = 0;
  while (shared < depth && a.bridges[shared] == b.bridges[shared]) ++shared;
  if (shared > 1) return Distance::kSwitch;
  if (shared == 1) return Distance::kRoot;
  if (a.node < 0 || b.node < 0) return Distance::kUnknown;
  return a.node == b.node ? Distance::kNode : Distance::kHost;
}

const char* distance_text(Distance d) {
  switch (d) {
    case Distance::kSwitch:
      return "same PCI switch";
    case Distance::kRoot:
      return "same PCI root";
    case Distance::kNode:
      return "same NUMA node";
    case Distance::kHost:
      return "another NUMA node";
    case Distance::kUnknown:
      break;
  }
  return "distance unknown";
}

std::vector<int> nic_of_gpus(const HostView& host) {
  std::vector<int> out;
  std::map<std::vector<int>, size_t> turns;  // of each set of equals
  for (const HostView::Device& gpu : host.gpus) {
    std::vector<int> nearest;
    Distance least = Distance::kUnknown;
    for (size_t n = 0; n < host.nics.size(); ++n) {
      const Distance d = distance(gpu, host.nics[n]);
      if (d < least) nearest.clear(), least = d;
      if (d == least) nearest.push_back(static_cast<int>(n));
    }
    out.push_back(nearest.empty() ? -1 : nearest[turns[nearest]++ % nearest.size()]);
  }
  return out;
}

std::string cpus_text(const Cpus& cpus) {
  std::string out;
  for (size_t i = 0; i < cpus.size();) {
    size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    out += (out.empty() ? "" : ",") + std::to_string(cpus[i]);
    if (last > i) out += "-" + std::to_string(cpus[last]);
    i = last + 1;
  }
  return out;
}

}  // namespace fanin
