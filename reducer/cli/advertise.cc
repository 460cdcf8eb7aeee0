#include "reducer/cli/advertise.h"

#include <algorithm>
#include <cstdint>

#include "fanin/wire.h"
#include "topology/host_list.h"
#include "topology/rate.h"

namespace fanin::reducer::cli {
namespace {

Result<std::vector<tcp::Rail>> entry(std::string_view text, int family) {
  const size_t equals = std::min(text.find('='), text.size());
  std::string name(text.substr(0, equals));
  if (name.size() > 2 && name.front() == '[' && name.back() == ']') name = name.substr(1, name.size() - 2);
  std::vector<tcp::Rail> rails;
  if (const std::optional<tcp::Address> a = tcp::Address::numeric(name, 0)) {
    if (!a->is_one_host())
      return Error(
          Errc::kInvalidUsage,
          fanin::quoted(name) + " is no address of one host; give those at which workers reach this one");
    rails = {{*a, tcp::speed_of(*a)}};
  } else {
    rails = tcp::rails_of(name, family);
  }
  if (rails.empty())
    return Error(
        Errc::kInvalidUsage,
        fanin::quoted(name) +
            " is neither an address (without port) nor an interface of this host that is up and has one");
  if (equals < text.size()) {
    const Result<double> rate = parse_rate(text.substr(equals + 1));
    if (!rate) return rate.error();
    const double mbps = std::clamp(*rate / 1e6, 1.0, 1e9);
    for (tcp::Rail& r : rails) r.mbps = static_cast<uint32_t>(mbps);
  }
  return rails;
}

// Whether a worker can be told of all of them, whatever the port.
bool fit(std::vector<tcp::Rail> rails) {
  for (tcp::Rail& r : rails) r.address.set_port(65535);
  const std::string text = tcp::rails_text(rails, SIZE_MAX);
  return rails.size() <= tcp::kMaxRails && text.size() + tcp::kChosenRails.size() <= wire::kMaxText;
}

}  // namespace

Result<std::vector<tcp::Rail>> advertised(const std::string& text, const tcp::Address& listen) {
  const int family = listen.family() == AF_INET6 ? AF_UNSPEC : AF_INET;  // [::] takes IPv4 too
  if (text == "none") return std::vector<tcp::Rail>();
  if (text == "auto")
    return listen.is_any() ? tcp::host_rails(family)
                           : std::vector<tcp::Rail>{{listen, tcp::speed_of(listen)}};
  std::vector<tcp::Rail> out;
  for (const std::string_view e : split_list(text)) {
    Result<std::vector<tcp::Rail>> rails = entry(e, family);
    if (!rails) return rails.error().in("--advertise");
    for (const tcp::Rail& r : *rails) {
      if (std::any_of(out.begin(), out.end(), [&](auto& o) { return o.address == r.address; }))
        return Error(Errc::kInvalidUsage,
                     "--advertise: " + r.address.host() + " is listed twice; remove one");
      out.push_back(r);
    }
  }
  if (!fit(out))
    return Error(Errc::kInvalidUsage, "--advertise: workers cannot be told of so many addresses (" +
                                          std::to_string(out.size()) + "); list the fastest");
  return out;
}

}  // namespace fanin::reducer::cli
