// Whom limits and log lines are counted against: an IPv4 address, or the /64 of an IPv6 one, of which a host may have all.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>

#include "transport/tcp/address.h"

namespace fanin::reducer {

using PeerKey = std::array<uint8_t, 16>;

inline PeerKey peer_key(const tcp::Address& address) {
  PeerKey key = address.bytes();
  const bool v4 = std::all_of(key.begin(), key.begin() + 10, [](uint8_t b) { return b == 0; });
  if (!v4) std::fill(key.begin() + 8, key.end(), uint8_t{0});
  return key;
}

}  // namespace fanin::reducer
