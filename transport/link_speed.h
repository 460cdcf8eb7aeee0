// How fast a network interface is, as far as the kernel knows and can be believed. Reads /sys; any thread.
//
// A card tells its link's rate, and so do what is made of cards (bonds) and what lies on one (VLANs and the like). Of other
// virtual interfaces (veth, bridges, tunnels) the kernel tells numbers that mean nothing: a veth has 10 Gbit/s whatever is
// behind it. A virtual machine's card often tells none.
#pragma once
#include <cstdint>
#include <string>

namespace fanin {

inline constexpr const char* kSysClassNet = "/sys/class/net";

// Mbit/s; 0: unknown.
uint32_t link_speed(const std::string& interface, const std::string& sys = kSysClassNet);
// `interface` lies on `lower` and shares its link: a VLAN, or a bond on its cards.
bool lies_on(const std::string& interface, const std::string& lower, const std::string& sys = kSysClassNet);

}  // namespace fanin
