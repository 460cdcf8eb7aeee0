#include "reducer/cli/place.h"

#include <ifaddrs.h>

#include <algorithm>
#include <memory>
#include <set>

#include "reducer/cli/host_limits.h"
#include "reducer/cli/log.h"
#include "topology/host/read_host.h"
#include "topology/placement.h"
#include "transport/affinity.h"

namespace fanin::reducer::cli {
namespace {

constexpr unsigned kMostLanes = 256;  // --lanes'

// "lanes pinned to a core each: 12 on NUMA node 1, 4 on NUMA node 0 (NIC eth0)"
std::string line_of(const std::vector<ThreadPlace>& places, const std::vector<std::string>& nics,
                    bool one_each) {
  std::vector<std::pair<int, unsigned>> lanes;  // by node, in order
  for (const ThreadPlace& p : places) {
    auto it = std::find_if(lanes.begin(), lanes.end(), [&](auto& l) { return l.first == p.node; });
    if (it == lanes.end()) it = lanes.insert(it, {p.node, 0});
    ++it->second;
  }
  std::string text = one_each ? "lanes pinned to a core each" : "lanes pinned to a NUMA node each";
  for (size_t i = 0; i < lanes.size(); ++i)
    text +=
        (i == 0 ? ": " : ", ") + std::to_string(lanes[i].second) +
        (lanes[i].first < 0 ? std::string(" anywhere") : " on NUMA node " + std::to_string(lanes[i].first));
  for (size_t i = 0; i < nics.size(); ++i) text += (i == 0 ? " (NIC " : ", ") + nics[i];
  return text + (nics.empty() ? "" : ")");
}

}  // namespace

std::vector<std::string> nics_of(const tcp::Address& listen, const HostView& host) {
  std::vector<std::string> out;
  if (!listen.is_any()) {
    ifaddrs* raw = nullptr;
    if (getifaddrs(&raw) != 0) return out;
    std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> list(raw, freeifaddrs);
    for (const ifaddrs* i = raw; i; i = i->ifa_next) {
      if (!i->ifa_addr || i->ifa_addr->sa_family != listen.family()) continue;
      const tcp::Address at(i->ifa_addr,
                            listen.family() == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
      if (at.host() == listen.host()) out.push_back(i->ifa_name);
    }
    return out;
  }
  double fastest = 0;
  for (const HostView::Device& n : host.nics) fastest = std::max(fastest, n.rate);
  for (const HostView::Device& n : host.nics)
    if (n.rate == fastest) out.push_back(n.name);
  return out;
}

void place(ServeConfig& config, const HwlocApi& hwloc) {
  // Behind loopback the workers are on the same cores.
  const bool pin = config.affinity && !config.listen.front().is_loopback();
  if (!pin && config.reducer.lanes != 0) return;
  Result<HostView> host = read_host(hwloc);
  if (config.reducer.lanes == 0) {
    HostView logical;  // what is left where hwloc fails
    if (!host) logical.cores.resize(affinity_of_this_thread().size());
    config.reducer.lanes = std::min(lanes_by_cores(host ? *host : logical, cpu_quota()), kMostLanes);
  }
  if (!host)
    return log_line("warning: hardware threads count as cores, and lanes are not pinned: " +
                    host.error().text());
  if (!pin) return;
  const std::vector<std::string> nics = nics_of(config.listen.front(), *host);
  const std::vector<ThreadPlace> places = place_lanes(*host, nics, config.reducer.lanes);
  for (const ThreadPlace& p : places) config.reducer.places.push_back({p.cpus, p.node});
  if (places.empty()) return;
  std::set<Cpus> different;
  for (const ThreadPlace& p : places) different.insert(p.cpus);
  log_line(line_of(places, nics, different.size() == places.size()));
}

}  // namespace fanin::reducer::cli
