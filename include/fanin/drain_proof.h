// How fanin-ctl proves to a reducer that it may be drained: it hashes the reducer's challenge with the admin secret.
//
// A challenge says until when it is good and is proved with a key that only this reducer has, so the reducer keeps
// nothing of those it gave out. One can be used again until then, which is harmless: draining twice is draining.
// Pure; any thread.
#pragma once
#include <string>
#include <string_view>

#include "fanin/secret.h"

namespace fanin {

inline std::string hex_of(std::span<const uint8_t> bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string out;
  for (uint8_t b : bytes) out += {kDigits[b >> 4], kDigits[b & 15]};
  return out;
}

// As hex, of the secret's holder.
inline std::string drain_proof(const Secret& admin, std::string_view challenge) {
  return hex_of(
      admin.prove("fanin drain     ", {std::as_bytes(std::span(challenge.data(), challenge.size()))}));
}

}  // namespace fanin
