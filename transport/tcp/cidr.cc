#include "transport/tcp/cidr.h"

#include <algorithm>

namespace fanin::tcp {
namespace {

using Bytes = std::array<uint8_t, 16>;

bool is_mapped(const Bytes& b) {
  return std::all_of(b.begin(), b.begin() + 10, [](uint8_t x) { return x == 0; }) && b[10] == 0xff &&
         b[11] == 0xff;
}

// Whether the first bits are equal.
bool same_prefix(const Bytes& a, const Bytes& b, unsigned bits) {
  const unsigned whole = bits / 8, rest = bits % 8;
  if (!std::equal(a.begin(), a.begin() + whole, b.begin())) return false;
  return rest == 0 || ((a[whole] ^ b[whole]) >> (8 - rest)) == 0;
}

Bytes masked(Bytes b, unsigned bits) {
  for (unsigned i = 0; i < 16; ++i) {
    const unsigned keep = std::clamp(static_cast<int>(bits) - static_cast<int>(8 * i), 0, 8);
    b[i] = static_cast<uint8_t>(b[i] & (0xff << (8 - keep)));
  }
  return b;
}

std::string text_of(const Bytes& b, bool v4) {
  sockaddr_in6 a{};
  a.sin6_family = AF_INET6;
  std::copy(b.begin(), b.end(), a.sin6_addr.s6_addr);
  const std::string host = Address(reinterpret_cast<sockaddr*>(&a), sizeof a).host();
  return v4 ? host.substr(host.rfind(':') + 1) : host;
}

}  // namespace

Result<NetworkList> NetworkList::parse(std::string_view text) {
  NetworkList out;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view entry = text.substr(0, comma);
    if (comma == text.size())
      text = {};
    else if ((text = text.substr(comma + 1)).empty())
      text = " ";  // a comma at the end announces an entry that is not there
    while (!entry.empty() && entry.front() == ' ') entry.remove_prefix(1);
    while (!entry.empty() && entry.back() == ' ') entry.remove_suffix(1);
    auto bad = [&](const std::string& why) {
      return Error(Errc::kInvalidUsage,
                   quoted(entry) + " is no network (" + why +
                       "); write 10.0.0.0/8, fd00::/8 or 192.168.1.7, separated by commas");
    };
    const size_t slash = entry.find('/');
    const std::string host(entry.substr(0, slash));
    // Neither a scope nor a short form such as 10.1: what it would mean is not what it looks like.
    const bool v4_form = host.find(':') == std::string::npos;
    if (host.find('%') != std::string::npos || (v4_form && std::count(host.begin(), host.end(), '.') != 3))
      return bad("no address");
    const std::optional<Address> address = Address::numeric(host, 0);
    if (!address) return bad("no address");
    Network n{address->bytes(), 0, v4_form};
    const int64_t most = v4_form ? 32 : 128;
    int64_t bits = most;
    if (slash != std::string_view::npos) {
      const std::string_view number = entry.substr(slash + 1);
      if (number.empty() || number.size() > 3 ||
          !std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; }))
        return bad("the prefix is no number");
      bits = std::stoi(std::string(number));
      if (bits > most) return bad("the prefix is above " + std::to_string(most));
    }
    n.bits = static_cast<unsigned>(bits) + (v4_form ? 96 : 0);
    n.v4 = is_mapped(n.address) && n.bits >= 96;
    if (masked(n.address, n.bits) != n.address)
      return bad("bits are set beyond the prefix; is " + text_of(masked(n.address, n.bits), v4_form) + "/" +
                 std::to_string(bits) + " meant?");
    out.networks_.push_back(n);
  }
  return out;
}

bool NetworkList::contains(const Address& address) const {
  const Bytes b = address.bytes();
  const bool v4 = is_mapped(b);
  return std::any_of(networks_.begin(), networks_.end(),
                     [&](const Network& n) { return n.v4 == v4 && same_prefix(n.address, b, n.bits); });
}

bool is_public(const Address& address) {
  static const NetworkList inside = *NetworkList::parse(
      "0.0.0.0/8,10.0.0.0/8,100.64.0.0/10,127.0.0.0/8,169.254.0.0/16,172.16.0.0/12,192.168.0.0/16,::/"
      "127,fc00::/7,"
      "fe80::/10");
  return !inside.contains(address);
}

}  // namespace fanin::tcp
