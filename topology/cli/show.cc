#include "topology/cli/show.h"

#include <algorithm>

#include "fanin/json.h"
#include "topology/cli/text.h"
#include "topology/rate.h"

namespace fanin::topo {
namespace {

std::string or_unknown(double rate) { return rate > 0 ? rate_text(rate) : "rate unknown"; }

// The node's cores, and then its devices.
std::string node_text(const HostView& h, int node, const std::vector<int>& use) {
  std::string out;
  Cpus cpus;
  size_t cores = 0;
  for (const HostView::Core& c : h.cores)
    if (c.node == node) cpus.insert(cpus.end(), c.cpus.begin(), c.cpus.end()), ++cores;
  std::sort(cpus.begin(), cpus.end());
  if (cores > 0) out += format("  %zu cores, CPUs %s\n", cores, cpus_text(cpus).c_str());
  for (const HostView::Device& n : h.nics)
    if (n.node == node) {
      out += format("  NIC  %-14s %s", n.name.c_str(), or_unknown(n.rate).c_str());
      if (!n.pci.empty()) out += "  " + n.pci;
      if (n.pci_rate > 0) out += "  (PCI " + rate_text(n.pci_rate) + ")";
      out += (n.what.empty() ? "" : "  " + n.what) + "\n";
    }
  for (size_t g = 0; g < h.gpus.size(); ++g) {
    const HostView::Device& gpu = h.gpus[g];
    if (gpu.node != node) continue;
    out += format("  GPU  %-14s", gpu.name.c_str());
    if (use[g] >= 0) {
      const HostView::Device& nic = h.nics[static_cast<size_t>(use[g])];
      out += " uses " + nic.name + ", " + distance_text(distance(gpu, nic));
    } else {
      out += " has no NIC to use";
    }
    out += (gpu.what.empty() ? "" : "  " + gpu.what) + "\n";
  }
  return out;
}

void put(Json& j, const HostView::Device& d) {
  j.key("name").value(d.name).key("pci").value(d.pci).key("what").value(d.what).key("node").value(d.node);
  j.key("pci_bits_per_s").value(d.pci_rate);
}

}  // namespace

std::string show_text(const HostView& h) {
  const std::vector<int> use = nic_of_gpus(h);
  std::string out;
  for (const HostView::Numa& n : h.numa)
    out += format("NUMA node %d, %s\n", n.node, bytes_text(static_cast<double>(n.memory)).c_str()) +
           node_text(h, n.node, use);
  if (const std::string rest = node_text(h, -1, use); !rest.empty())
    out += "not known to be near any node\n" + rest;
  if (h.nics.empty()) out += "no NIC is to be seen on PCI: fanin leaves its threads to the kernel here\n";
  return out;
}

std::string show_json(const HostView& h) {
  const std::vector<int> use = nic_of_gpus(h);
  Json j;
  j.open('{').key("numa").open('[');
  for (const HostView::Numa& n : h.numa)
    j.open('{').key("node").value(n.node).key("memory_bytes").value(n.memory).close('}');
  j.close(']').key("cores").open('[');
  for (const HostView::Core& c : h.cores)
    j.open('{').key("node").value(c.node).key("cpus").value(cpus_text(c.cpus)).close('}');
  j.close(']').key("nics").open('[');
  for (const HostView::Device& n : h.nics) {
    put(j.open('{'), n);
    j.key("bits_per_s").value(n.rate).close('}');
  }
  j.close(']').key("gpus").open('[');
  for (size_t g = 0; g < h.gpus.size(); ++g) {
    put(j.open('{'), h.gpus[g]);
    j.key("nic");
    if (use[g] < 0) {
      j.null().close('}');
      continue;
    }
    const HostView::Device& nic = h.nics[static_cast<size_t>(use[g])];
    j.value(nic.name).key("distance").value(distance_text(distance(h.gpus[g], nic))).close('}');
  }
  j.close(']').close('}');
  return j.text() + "\n";
}

}  // namespace fanin::topo
