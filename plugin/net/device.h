// The NICs this process may use, as both tables report them.
//
// Chosen as NCCL's own socket net does: NCCL_SOCKET_IFNAME (prefix list, =exact, ^exclude),
// NCCL_SOCKET_FAMILY, else every interface that is up and has an address, loopback and docker only when
// nothing else is there. The list is made once per load of the library and never changes. Thread-safe.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fanin/error.h"
#include "transport/tcp/address.h"

namespace fanin::plugin {

struct NetDevice {
  std::string name;      // "eth0"
  std::string pci_path;  // real path in /sys/devices; empty for virtual interfaces
  uint64_t guid = 0;     // stable on this host, different per NIC
  int speed_mbps = 0;    // of the link; 10000 where the kernel does not know
  // That is the speed of a card (transport/link_speed.h).
  bool speed_known = false;
  int port = 0;
  float latency_us = 0;  // 0: unknown
  tcp::Address address;  // port 0
  tcp::Address netmask;  // of its subnet; family AF_UNSPEC: unknown
};

// Error (kInvalidUsage) when no interface fits, naming the variables and what there is.
Result<std::span<const NetDevice>> net_devices();
// What net_devices() would find now; for tests and for net_devices() itself.
Result<std::vector<NetDevice>> find_net_devices();

}  // namespace fanin::plugin
