// fanin-topo show: a host as a tree of NUMA nodes with their cores, NICs and GPUs, and the NIC each GPU would use. Pure.
#pragma once
#include <string>

#include "topology/host_view.h"

namespace fanin::topo {

std::string show_text(const HostView& host);
std::string show_json(const HostView& host);

}  // namespace fanin::topo
