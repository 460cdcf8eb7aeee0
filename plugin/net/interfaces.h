// Which network interfaces to use: NCCL's own rules, as a pure function over the host's interfaces.
//
// NCCL_SOCKET_IFNAME is a comma list of prefixes, after "=" of exact names, after "^" of what to leave out
// ("^=" exact). Without it: what starts with "ib", else what shares the subnet of NCCL_COMM_ID, else anything
// but docker, lo and virbr, else docker, lo, virbr in that order. Values only; any thread.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "fanin/error.h"
#include "transport/tcp/address.h"

namespace fanin::plugin {

inline constexpr size_t kMaxInterfaces = 16;  // NCCL's own limit

// One address of one interface, in the kernel's order.
struct Interface {
  std::string name;
  bool running = false;  // up, and with a carrier
  tcp::Address address;
  tcp::Address netmask;
};

// The user's wishes, as in the environment; empty: not set.
struct InterfaceWish {
  std::string names;    // NCCL_SOCKET_IFNAME
  std::string family;   // NCCL_SOCKET_FAMILY: AF_INET or AF_INET6
  std::string comm_id;  // NCCL_COMM_ID: numeric host:port
};

// At most kMaxInterfaces, one address each: the first of the interface that is not IPv6 link-local. An
// interface with only a link-local address is taken when no other fits. Error (kInvalidUsage) when nothing
// fits.
Result<std::vector<Interface>> choose_interfaces(std::span<const Interface> all, const InterfaceWish& wish);

}  // namespace fanin::plugin
