// Several texts as one and back: a 32-bit length before each. Pure functions.
#pragma once
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace fanin::nccl_perf {

inline std::string pack(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& p : parts) {
    const uint32_t size = static_cast<uint32_t>(p.size());
    out.append(reinterpret_cast<const char*>(&size), sizeof size);
    out += p;
  }
  return out;
}

// nullopt when the lengths do not add up.
inline std::optional<std::vector<std::string>> unpack(const std::string& all) {
  std::vector<std::string> parts;
  for (size_t at = 0; at < all.size();) {
    uint32_t size;
    if (all.size() - at < sizeof size) return std::nullopt;
    memcpy(&size, all.data() + at, sizeof size);
    at += sizeof size;
    if (all.size() - at < size) return std::nullopt;
    parts.push_back(all.substr(at, size));
    at += size;
  }
  return parts;
}

}  // namespace fanin::nccl_perf
