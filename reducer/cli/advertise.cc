#include "reducer/cli/advertise.h"

#include <algorithm>

#include "topology/host_list.h"
#include "topology/rate.h"

namespace fanin::reducer::cli {
namespace {

Result<std::vector<tcp::Rail>> entry(std::string_view text, int family) {
  const size_t equals = std::min(text.find('='), text.size());
  const std::string name(text.substr(0, equals));
  std::vector<tcp::Rail> rails;
  if (const std::optional<tcp::Address> a = tcp::Address::numeric(name, 0))
    rails = {{*a, tcp::speed_of(*a)}};
  else
    rails = tcp::rails_of(name, family);
  if (rails.empty())
    return Error(
        Errc::kInvalidUsage,
        fanin::quoted(name) + " is neither an address nor an interface of this host that is up and has one");
  if (equals < text.size()) {
    const Result<double> rate = parse_rate(text.substr(equals + 1));
    if (!rate) return rate.error();
    const double mbps = std::clamp(*rate / 1e6, 1.0, 1e9);
    for (tcp::Rail& r : rails) r.mbps = static_cast<uint32_t>(mbps);
  }
  return rails;
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
    out.insert(out.end(), rails->begin(), rails->end());
  }
  return out;
}

}  // namespace fanin::reducer::cli
