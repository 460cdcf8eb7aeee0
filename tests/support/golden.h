// Bytes as the golden tests compare them: in hexadecimal digits, as they lie in memory. Pure functions.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <string>

namespace fanin::test {

template <class T>
std::string hex(const T& bytes) {
  std::string out;
  for (auto b : bytes) {
    const auto u = static_cast<unsigned char>(b);
    out += "0123456789abcdef"[u >> 4];
    out += "0123456789abcdef"[u & 15];
  }
  return out;
}

template <class T>
std::string hex_of(const T& frame) {
  std::array<unsigned char, sizeof frame> bytes;
  memcpy(bytes.data(), &frame, sizeof frame);
  return hex(bytes);
}

// Bytes first, first+1, …
template <size_t N>
std::array<uint8_t, N> counting(uint8_t first) {
  std::array<uint8_t, N> a;
  for (auto& b : a) b = first++;
  return a;
}

// The values of an enum are 0 (or `first`), 1, 2 … as `pinned` says, and there is none behind. pinned: a switch without
// default, so that a new value does not compile before it is pinned; -1 for all others.
template <class E>
std::string misplaced(int (*pinned)(E), int first, int end) {
  std::string out;
  for (int i = 0; i <= end; ++i)
    if (pinned(static_cast<E>(i)) != (i < first || i == end ? -1 : i)) out += std::to_string(i) + " ";
  return out;
}

}  // namespace fanin::test
