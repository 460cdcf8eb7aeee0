#include "plugin/listen.h"

#include "plugin/net/random.h"
#include "transport/tcp/socket.h"

namespace fanin::plugin {

Result<Fd> listen_for_workers(tcp::Address at, const std::optional<tcp::PortRange>& ports) {
  at.set_port(0);
  if (!ports) return tcp::listen_on(at);
  // Begins anywhere: the processes of a host start in the same moment.
  Result<Fd> fd = tcp::listen_within(*ports, at, static_cast<uint32_t>(net::random_u64()));
  // What else fails has nothing to do with the range.
  if (!fd && fd.error().code() == Errc::kInvalidUsage) return fd.error().in("FANIN_PORT_RANGE");
  return fd;
}

}  // namespace fanin::plugin
