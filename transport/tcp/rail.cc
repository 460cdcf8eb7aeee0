#include "transport/tcp/rail.h"

#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <memory>

#include "transport/link_speed.h"

namespace fanin::tcp {
namespace {

// Bridges and taps of this host alone: other hosts have the same addresses.
bool of_this_host_only(std::string_view name) {
  for (std::string_view prefix :
       {"lo", "docker", "virbr", "cni", "br-", "veth", "cali", "flannel", "kube", "podman"})
    if (name.starts_with(prefix)) return true;
  return false;
}

bool link_local(const Address& a) {
  const auto b = a.bytes();
  return a.family() == AF_INET6 ? b[0] == 0xfe && (b[1] & 0xc0) == 0x80 : b[12] == 169 && b[13] == 254;
}

// One per interface and family that `take` wants.
std::vector<Rail> collect(int family, const std::function<bool(const std::string&, const Address&)>& take) {
  ifaddrs* raw = nullptr;
  if (getifaddrs(&raw) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> list(raw, freeifaddrs);
  std::vector<Rail> out;
  std::vector<std::pair<std::string, int>> seen;
  for (const ifaddrs* i = raw; i && out.size() < kMaxRails; i = i->ifa_next) {
    if (!i->ifa_addr || (i->ifa_flags & (IFF_UP | IFF_RUNNING)) != (IFF_UP | IFF_RUNNING)) continue;
    const int f = i->ifa_addr->sa_family;
    if ((f != AF_INET && f != AF_INET6) || (family != AF_UNSPEC && f != family)) continue;
    const Address a(i->ifa_addr, f == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    const std::pair<std::string, int> key(i->ifa_name, f);
    if (link_local(a) || std::find(seen.begin(), seen.end(), key) != seen.end() || !take(key.first, a))
      continue;
    seen.push_back(key);
    out.push_back({a, link_speed(key.first)});
    out.back().address.set_port(0);
  }
  return out;
}

}  // namespace

std::string rails_text(std::span<const Rail> rails, size_t most) {
  std::string out;
  for (const Rail& r : rails) {
    const std::string line = r.address.text() + " " + std::to_string(r.mbps) + "\n";
    if (out.size() + line.size() > most) break;
    out += line;
  }
  return out;
}

std::vector<Rail> parse_rails(std::string_view text) {
  std::vector<Rail> out;
  while (!text.empty() && out.size() < kMaxRails) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const size_t space = line.find(' ');
    if (space == std::string_view::npos) continue;
    const std::string_view digits = line.substr(space + 1);
    uint32_t mbps = 0;
    const auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), mbps);
    if (ec != std::errc() || end != digits.data() + digits.size()) continue;
    const Result<HostPort> hp = parse_host_port(line.substr(0, space));
    if (!hp || hp->port == 0) continue;
    if (const std::optional<Address> a = Address::numeric(hp->host, hp->port)) out.push_back({*a, mbps});
  }
  return out;
}

std::vector<Rail> host_rails(int family) {
  return collect(family, [](const std::string& name, const Address& a) {
    return !a.is_loopback() && !of_this_host_only(name);
  });
}

uint32_t speed_of(const Address& address) {
  const std::vector<Rail> found = collect(
      address.family(), [&](const std::string&, const Address& a) { return a.bytes() == address.bytes(); });
  return found.empty() ? 0 : found.front().mbps;
}

std::vector<Rail> rails_of(const std::string& interface, int family) {
  return collect(family, [&](const std::string& name, const Address&) { return name == interface; });
}

}  // namespace fanin::tcp
