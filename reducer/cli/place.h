// Decides where the lanes run (topology/placement.h), for the NICs the reducer listens on, and says so in the log.
#pragma once
#include <string>
#include <vector>

#include "reducer/cli/settings.h"
#include "topology/host/hwloc_api.h"
#include "topology/host_view.h"

namespace fanin::reducer::cli {

// Fills config.reducer.places, or leaves it empty, as for a reducer that only this host can reach. Once, on start-up.
void place(ServeConfig& config, const HwlocApi& hwloc);

// The NICs that carry what comes to this address: its own, or, for all addresses, the host's fastest.
std::vector<std::string> nics_of(const tcp::Address& listen, const HostView& host);

}  // namespace fanin::reducer::cli
