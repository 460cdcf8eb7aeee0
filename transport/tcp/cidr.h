// Lists of networks as users write them ("10.0.0.0/8,fd00::/8,192.168.1.7"), and which addresses are the internet's.
// Plain values and pure functions; any thread.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fanin/error.h"
#include "transport/tcp/address.h"

namespace fanin::tcp {

class NetworkList {
 public:
  // Networks and single addresses, separated by commas; IPv6 without brackets. Errors name the entry and the fix: no
  // number, a prefix too long, bits set beyond it. Empty text: an empty list.
  static Result<NetworkList> parse(std::string_view text);
  bool empty() const { return networks_.empty(); }
  // An IPv4 address matches IPv4 networks only, also when it comes as ::ffff:a.b.c.d.
  bool contains(const Address& address) const;

 private:
  struct Network {
    std::array<uint8_t, 16> address;
    unsigned bits;  // of the 128
    bool v4;
  };
  std::vector<Network> networks_;
};

// Reachable over the internet: not loopback, private (RFC 1918, 6598), link-local, unique local, or unspecified.
bool is_public(const Address& address);

}  // namespace fanin::tcp
