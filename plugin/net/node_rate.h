// What a node's NICs carry together, each way, for judging a pool (topology/pool_fit.h).
#pragma once
#include <optional>
#include <span>
#include <string>

#include "plugin/net/device.h"

namespace fanin::plugin {

struct NodeRate {
  double bits = 0;   // per second; 0: unknown
  std::string from;  // "eth0 100 Gbit/s, eth1 100 Gbit/s", or the variable; for people
};

// told: FANIN_WORKER_BW, as Options have it; else the sum of what is known of these NICs, which is then a lower bound.
NodeRate node_rate(const std::optional<double>& told, std::span<const NetDevice> nics);

}  // namespace fanin::plugin
