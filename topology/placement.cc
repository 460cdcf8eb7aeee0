#include "topology/placement.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace fanin {
namespace {

// Cores beside the lanes: for the acceptor, interrupts and whatever else runs. With fewer, pinning cost a quarter of the
// bandwidth (docs/affinity.md).
constexpr size_t kOthers = 2;

int node_of(const HostView& host, const std::string& nic) {
  for (const HostView::Device& n : host.nics)
    if (n.name == nic) return n.node;
  return -1;
}

// All nodes with cores, the NICs' first, in their order.
std::vector<int> nodes_by_nearness(const HostView& host, const std::vector<std::string>& nics, size_t& near) {
  std::vector<int> out;
  auto add = [&](int node) {
    const bool has_cores =
        std::any_of(host.cores.begin(), host.cores.end(), [&](auto& c) { return c.node == node; });
    if (has_cores && std::find(out.begin(), out.end(), node) == out.end()) out.push_back(node);
  };
  for (const std::string& nic : nics)
    if (const int node = node_of(host, nic); node >= 0) add(node);
  near = out.size();
  for (const HostView::Core& c : host.cores) add(c.node);
  return out;
}

std::vector<const HostView::Core*> cores_on(const HostView& host, int node) {
  std::vector<const HostView::Core*> out;
  for (const HostView::Core& c : host.cores)
    if (c.node == node) out.push_back(&c);
  return out;
}

Cpus cpus_of(const std::vector<const HostView::Core*>& cores) {
  Cpus out;
  for (const HostView::Core* c : cores) out.insert(out.end(), c->cpus.begin(), c->cpus.end());
  std::sort(out.begin(), out.end());
  return out;
}

// Cores of these nodes, one of each in turn.
void take_turns(const HostView& host, const std::vector<int>& nodes, size_t first, size_t last,
                std::vector<const HostView::Core*>& out) {
  bool more = true;
  for (size_t turn = 0; more; ++turn) {
    more = false;
    for (size_t n = first; n < last; ++n)
      if (auto cores = cores_on(host, nodes[n]); turn < cores.size()) out.push_back(cores[turn]), more = true;
  }
}

}  // namespace

unsigned lanes_by_cores(const HostView& host, double quota) {
  return static_cast<unsigned>(std::max(1.0, std::floor(std::min<double>(host.cores.size(), quota))));
}

std::vector<ThreadPlace> place_lanes(const HostView& host, const std::vector<std::string>& nics,
                                     unsigned lanes) {
  size_t near = 0;
  const std::vector<int> nodes = nodes_by_nearness(host, nics, near);
  std::vector<ThreadPlace> out;
  if (host.cores.size() >= lanes + kOthers) {
    std::vector<const HostView::Core*> order;
    take_turns(host, nodes, 0, near, order);
    take_turns(host, nodes, near, nodes.size(), order);
    for (unsigned i = 0; i < lanes; ++i) out.push_back({order[i]->cpus, order[i]->node});
    return out;
  }
  if (nodes.size() < 2) return out;
  for (int node : nodes) {
    const ThreadPlace place{cpus_of(cores_on(host, node)), node};
    for (size_t i = 0; i < place.cpus.size() && out.size() < lanes; ++i) out.push_back(place);
  }
  if (out.size() < lanes) out.clear();
  return out;
}

ThreadPlace place_io(const HostView& host, const std::string& nic, unsigned threads) {
  const int node = node_of(host, nic);
  if (node < 0) return {};
  const auto near = cores_on(host, node);
  if (near.size() == host.cores.size() || near.size() <= threads) return {};
  return {cpus_of(near), node};
}

}  // namespace fanin
