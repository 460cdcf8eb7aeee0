// Takes a fuzzer's bytes apart, front to back. Past the end everything reads as 0, so a prefix of an input is an
// input. Plain value.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace fanin::fuzz {

class Input {
 public:
  Input(const uint8_t* data, size_t size) : in_(data, size) {}
  bool done() const { return in_.empty(); }

  template <class T>
  T get() {
    T v{};
    const size_t n = std::min(in_.size(), sizeof v);
    memcpy(&v, in_.data(), n);
    in_ = in_.subspan(n);
    return v;
  }
  uint8_t u8() { return get<uint8_t>(); }
  uint16_t u16() { return get<uint16_t>(); }
  uint32_t below(uint32_t n) { return u8() % n; }

  // A field's value: small, at an edge, or anything.
  uint64_t number() {
    static constexpr uint64_t edges[] = {
        0,   64,         255,        256,        4096,       65535,      65536,     1u << 20, 1u << 31,
        ~0u, 1ull << 32, 1ull << 36, 1ull << 40, 1ull << 52, 1ull << 63, ~0ull - 1, ~0ull};
    const uint8_t kind = u8();
    if (kind < 128) return kind;
    if (kind < 160) return edges[kind % std::size(edges)];
    if (kind < 176) return edges[kind % std::size(edges)] - 1;
    if (kind < 192) return edges[kind % std::size(edges)] + 1;
    return kind < 224 ? u16() : get<uint64_t>();
  }

  std::span<const uint8_t> bytes(size_t most) {
    auto out = in_.first(std::min(most, in_.size()));
    in_ = in_.subspan(out.size());
    return out;
  }
  std::string_view text(size_t most) {
    auto b = bytes(most);
    return {reinterpret_cast<const char*>(b.data()), b.size()};
  }
  std::string_view rest() { return text(in_.size()); }

 private:
  std::span<const uint8_t> in_;
};

// The bytes of a header, as a peer would send it.
template <class T>
std::string_view raw(const T& v) {
  return {reinterpret_cast<const char*>(&v), sizeof v};
}

}  // namespace fanin::fuzz
