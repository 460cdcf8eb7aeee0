#include "plugin/net/interfaces.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

namespace fanin::plugin {
namespace {

const in6_addr& ip6(const tcp::Address& a) {
  return reinterpret_cast<const sockaddr_in6*>(a.sa())->sin6_addr;
}
uint32_t ip4(const tcp::Address& a) { return reinterpret_cast<const sockaddr_in*>(a.sa())->sin_addr.s_addr; }

bool is_link_local(const tcp::Address& a) { return a.family() == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&ip6(a)); }

// A list as users write it: "^=eth0,ib1:2".
class NameFilter {
 public:
  explicit NameFilter(std::string_view text) {
    auto take = [&](char c) {
      bool there = text.starts_with(c);
      if (there) text.remove_prefix(1);
      return there;
    };
    exclude_ = take('^');
    exact_ = take('=');
    while (!text.empty()) {
      std::string_view item = text.substr(0, text.find(','));
      text.remove_prefix(std::min(text.size(), item.size() + 1));
      item = item.substr(0, item.find(':'));  // a port, meaningful to InfiniBand only
      if (!item.empty()) items_.push_back(item);
    }
  }
  bool accepts(std::string_view name) const {
    bool listed = items_.empty() || std::any_of(items_.begin(), items_.end(), [&](std::string_view item) {
                    return exact_ ? name == item : name.starts_with(item);
                  });
    return listed != exclude_;
  }

 private:
  bool exclude_, exact_;
  std::vector<std::string_view> items_;
};

bool usable(const Interface& i, int family) {
  if (!i.running || (i.address.family() != AF_INET && i.address.family() != AF_INET6)) return false;
  if (family != AF_UNSPEC && i.address.family() != family) return false;
  return i.address.family() == AF_INET || !i.address.is_loopback();
}

template <class Accept>
std::vector<Interface> pick(std::span<const Interface> all, int family, Accept accept) {
  std::vector<Interface> routed, link_local;
  for (const Interface& i : all) {
    if (!usable(i, family) || !accept(i)) continue;
    auto& out = is_link_local(i.address) ? link_local : routed;
    bool known = std::any_of(out.begin(), out.end(), [&](const Interface& o) { return o.name == i.name; });
    if (!known && out.size() < kMaxInterfaces) out.push_back(i);
  }
  return routed.empty() ? link_local : routed;
}

std::vector<Interface> pick_named(std::span<const Interface> all, int family, std::string_view list) {
  NameFilter filter(list);
  return pick(all, family, [&](const Interface& i) { return filter.accepts(i.name); });
}

bool same_subnet(const Interface& i, const tcp::Address& remote) {
  if (i.address.family() != remote.family() || i.netmask.family() != remote.family()) return false;
  if (remote.family() == AF_INET) return ((ip4(i.address) ^ ip4(remote)) & ip4(i.netmask)) == 0;
  for (int b = 0; b < 16; b++)
    if ((ip6(i.address).s6_addr[b] ^ ip6(remote).s6_addr[b]) & ip6(i.netmask).s6_addr[b]) return false;
  return true;
}

std::vector<Interface> pick_default(std::span<const Interface> all, const InterfaceWish& wish, int family) {
  std::vector<Interface> out = pick_named(all, family, "ib");
  if (out.empty() && !wish.comm_id.empty())
    // A name is not looked up: that may block, and NCCL's examples are numeric.
    if (Result<tcp::HostPort> hp = tcp::parse_host_port(wish.comm_id))
      if (std::optional<tcp::Address> id = tcp::Address::numeric(hp->host, hp->port))
        out = pick(all, family, [&](const Interface& i) { return same_subnet(i, *id); });
  for (const char* list : {"^docker,lo,virbr", "docker", "lo", "virbr"})
    if (out.empty()) out = pick_named(all, family, list);
  return out;
}

std::string describe(std::span<const Interface> all) {
  std::string text;
  for (const Interface& i : all)
    text += (text.empty() ? "" : ", ") + i.name + " " + i.address.host() + (i.running ? "" : " (down)");
  return text.empty() ? "none with an IP address" : text;
}

}  // namespace

Result<std::vector<Interface>> choose_interfaces(std::span<const Interface> all, const InterfaceWish& wish) {
  int family = wish.family == "AF_INET" ? AF_INET : wish.family == "AF_INET6" ? AF_INET6 : AF_UNSPEC;
  // NCCL takes a single character for "not set"; its bootstrap network would then differ from ours.
  bool named = wish.names.size() > 1;
  std::vector<Interface> out = named ? pick_named(all, family, wish.names) : pick_default(all, wish, family);
  if (!out.empty()) return out;
  std::string text = "no network interface fits";
  if (named) text += " NCCL_SOCKET_IFNAME=" + wish.names;
  if (family != AF_UNSPEC) text += (named ? " with" : "") + std::string(" NCCL_SOCKET_FAMILY=") + wish.family;
  return Error(Errc::kInvalidUsage, text + "; this host has: " + describe(all) +
                                        (named || family != AF_UNSPEC ? "" : " (bring one up)"));
}

}  // namespace fanin::plugin
