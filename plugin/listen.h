// Every port that this library opens: where other workers connect to. Any thread.
#pragma once
#include <optional>

#include "fanin/error.h"
#include "transport/fd.h"
#include "transport/tcp/port_range.h"

namespace fanin::plugin {

// On a device's address, on a port of FANIN_PORT_RANGE (not set: any that the kernel picks).
Result<Fd> listen_for_workers(tcp::Address at, const std::optional<tcp::PortRange>& ports);

}  // namespace fanin::plugin
