// The addresses at which a process can be reached, one per NIC, with the NICs' speeds: how a reducer tells them to its
// workers. Values and free functions; any thread.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transport/tcp/address.h"

namespace fanin::tcp {

struct Rail {
  Address address;
  uint32_t mbps = 0;  // 0: unknown
};

inline constexpr size_t kMaxRails = 64;

// A line each: "10.0.0.7:4000 100000". Only as many as fit into `most` bytes.
std::string rails_text(std::span<const Rail> rails, size_t most);
// What of a text can be understood; the rest is left out.
std::vector<Rail> parse_rails(std::string_view text);
// A first line that says: these were chosen by a person.
inline constexpr std::string_view kChosenRails = "chosen\n";

// This host's addresses of a family (AF_UNSPEC: both) on interfaces that are up, one per interface and family, without
// loopback, link-local addresses and the bridges of container engines and virtual machines. Speeds as the kernel knows them.
std::vector<Rail> host_rails(int family);
// The speed of the interface that has an address, or 0.
uint32_t speed_of(const Address& address);
// The addresses of an interface, with its speed; empty: there is none of that name, or it has none.
std::vector<Rail> rails_of(const std::string& interface, int family);

}  // namespace fanin::tcp
