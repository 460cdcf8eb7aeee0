#include "plugin/net/device.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <stdlib.h>

#include <charconv>
#include <memory>
#include <vector>

#include "plugin/lasting.h"
#include "plugin/log.h"
#include "plugin/net/interfaces.h"
#include "transport/link_speed.h"
#include "transport/small_file.h"

namespace fanin::plugin {
namespace {

constexpr int kUnknownSpeedMbps = 10000;

int speed_of(const std::string& name) {
  const std::string text = first_line_of("/sys/class/net/" + name + "/speed");
  int mbps = 0;
  std::from_chars(text.data(), text.data() + text.size(), mbps);
  return mbps > 0 ? mbps : kUnknownSpeedMbps;
}

std::string pci_path_of(const std::string& name) {
  std::unique_ptr<char, decltype(&free)> real(
      realpath(("/sys/class/net/" + name + "/device").c_str(), nullptr), free);
  return real ? real.get() : "";
}

// FNV-1a: the guid must be the same in every process of the host, so no seeded hash.
uint64_t guid_of(const std::string& name) {
  uint64_t h = 0xcbf29ce484222325u;
  for (const std::string& part :
       {first_line_of("/proc/sys/kernel/random/boot_id"), first_line_of("/proc/sys/kernel/hostname"), name,
        first_line_of("/sys/class/net/" + name + "/address")})
    for (size_t i = 0; i <= part.size(); i++)
      h = (h ^ static_cast<uint8_t>(part.c_str()[i])) * 0x100000001b3u;
  return h;
}

Result<std::vector<Interface>> host_interfaces() {
  ifaddrs* raw = nullptr;
  if (getifaddrs(&raw) != 0) return system_error("getifaddrs", errno);
  std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> list(raw, freeifaddrs);
  auto address = [](const sockaddr* sa) {
    if (!sa || (sa->sa_family != AF_INET && sa->sa_family != AF_INET6)) return tcp::Address();
    return tcp::Address(sa, sa->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
  };
  std::vector<Interface> out;
  for (const ifaddrs* i = raw; i; i = i->ifa_next) {
    Interface one{i->ifa_name, (i->ifa_flags & IFF_UP) && (i->ifa_flags & IFF_RUNNING), address(i->ifa_addr),
                  address(i->ifa_netmask)};
    if (one.address.family() != AF_UNSPEC) out.push_back(std::move(one));
  }
  return out;
}

std::string variable(const char* name) {
  const char* value = getenv(name);
  return value ? value : "";
}

}  // namespace

Result<std::vector<NetDevice>> find_net_devices() {
  InterfaceWish wish{variable("NCCL_SOCKET_IFNAME"), variable("NCCL_SOCKET_FAMILY"),
                     variable("NCCL_COMM_ID")};
  if (!wish.family.empty() && wish.family != "AF_INET" && wish.family != "AF_INET6")
    FANIN_WARN("NCCL_SOCKET_FAMILY=%s is ignored: write AF_INET or AF_INET6", wish.family.c_str());
  Result<std::vector<Interface>> all = host_interfaces();
  if (!all) return all.error();
  Result<std::vector<Interface>> chosen = choose_interfaces(*all, wish);
  if (!chosen) return chosen.error();
  std::vector<NetDevice> out;
  for (Interface& i : *chosen) {
    NetDevice d;
    d.pci_path = pci_path_of(i.name);
    d.guid = guid_of(i.name);
    d.speed_mbps = speed_of(i.name);
    d.speed_known = link_speed(i.name) != 0;
    d.address = i.address;
    d.address.set_port(0);
    d.netmask = i.netmask;
    d.name = std::move(i.name);
    out.push_back(std::move(d));
  }
  return out;
}

Result<std::span<const NetDevice>> net_devices() {
  static Lasting<const Result<std::vector<NetDevice>>> lasting([] {
    Result<std::vector<NetDevice>> found = find_net_devices();
    std::string text;
    if (found)
      for (const NetDevice& d : *found)
        text += " " + d.name + " " + d.address.host() + " at " + std::to_string(d.speed_mbps) + " Mbit/s;";
    if (found) FANIN_INFO(NCCL_INIT | NCCL_NET, "using%s", text.substr(0, text.size() - 1).c_str());
    return found;
  });
  const Result<std::vector<NetDevice>>& devices = *lasting;
  if (!devices) return devices.error();
  return std::span<const NetDevice>(*devices);
}

}  // namespace fanin::plugin
