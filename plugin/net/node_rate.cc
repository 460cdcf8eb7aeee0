#include "plugin/net/node_rate.h"

#include <algorithm>

#include "topology/rate.h"
#include "transport/link_speed.h"

namespace fanin::plugin {

NodeRate node_rate(const std::optional<double>& told, std::span<const NetDevice> nics) {
  NodeRate out;
  if (told) return {*told, "FANIN_WORKER_BW"};
  for (const NetDevice& d : nics) {
    const auto carries_it = [&](const NetDevice& o) { return o.speed_known && lies_on(d.name, o.name); };
    if (!d.speed_known || std::any_of(nics.begin(), nics.end(), carries_it)) continue;
    const double one = 1e6 * d.speed_mbps;
    out.bits += one;
    out.from += (out.from.empty() ? "" : ", ") + d.name + " " + rate_text(one);
  }
  return out;
}

}  // namespace fanin::plugin
