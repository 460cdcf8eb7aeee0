// Decides how many lanes there are, unless that was said, and where they run (topology/placement.h), for the NICs the reducer
// listens on, and says so in the log.
#pragma once
#include <string>
#include <vector>

#include "reducer/cli/settings.h"
#include "topology/host/hwloc_api.h"
#include "topology/host_view.h"

namespace fanin::reducer::cli {

// Fills config.reducer.lanes where it is 0, and .places, or leaves them empty, as for a reducer that only this host can reach
// or --affinity off. Once, on start-up.
void place(ServeConfig& config, const HwlocApi& hwloc);

// The NICs that carry what comes to this address: its own, or, for all addresses, the host's fastest.
std::vector<std::string> nics_of(const tcp::Address& listen, const HostView& host);

}  // namespace fanin::reducer::cli
