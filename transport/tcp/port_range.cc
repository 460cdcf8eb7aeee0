#include "transport/tcp/port_range.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <vector>

#include "transport/tcp/socket.h"

namespace fanin::tcp {
namespace {

// All numbers in a text, as ports: what is none is the nearest that is one.
std::vector<uint16_t> ports_in(std::string_view text) {
  std::vector<uint16_t> all;
  for (size_t at = 0; (at = text.find_first_of("0123456789", at)) != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
    uint16_t port = 0;
    const auto [rest, failed] = std::from_chars(text.data() + at, text.data() + end, port);
    all.push_back(failed == std::errc() ? std::max<uint16_t>(port, 1) : 65535);
    at = end;
  }
  return all;
}

}  // namespace

std::string PortRange::text() const {
  return low == high ? std::to_string(low) : std::to_string(low) + "-" + std::to_string(high);
}

Result<PortRange> parse_port_range(std::string_view text) {
  const std::vector<uint16_t> ports = ports_in(text);
  PortRange range;
  if (ports.size() == 1 || ports.size() == 2) {
    range = {std::min(ports.front(), ports.back()), std::max(ports.front(), ports.back())};
    // Only what is written so is one: no signs, spaces, leading zeros or numbers that are no ports.
    if (text == range.text() || text == std::to_string(range.low) + "-" + std::to_string(range.high))
      return range;
  }
  return Error(Errc::kInvalidUsage,
               quoted(text) + " is no range of ports from 1 to 65535" +
                   (range.low == 0 ? "; write it as 20000-20999" : "; did you mean " + range.text() + "?"));
}

Result<Fd> listen_within(const PortRange& range, Address at, uint32_t start) {
  int last = 0;
  for (uint32_t i = 0; i < range.size(); ++i) {
    at.set_port(static_cast<uint16_t>(range.low + (start % range.size() + i) % range.size()));
    Result<Fd> fd = listen_on(at, &last);
    if (fd || (last != EADDRINUSE && last != EACCES)) return fd;
  }
  return Error(Errc::kInvalidUsage, "none of the " + std::to_string(range.size()) + " ports " + range.text() +
                                        " of " + at.host() + " can be listened on (" + system_text(last) +
                                        "); give it more ports, or others");
}

}  // namespace fanin::tcp
