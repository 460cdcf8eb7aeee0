// Sizes of memory in what the reducer says: "64.0 MiB".
#pragma once
#include <cstdint>
#include <cstdio>
#include <string>

namespace fanin::reducer {

inline std::string mib(uint64_t bytes) {
  char text[32];
  snprintf(text, sizeof text, "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

}  // namespace fanin::reducer
