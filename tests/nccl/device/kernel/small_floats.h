// Storage types for half, bfloat16 and both fp8 formats: bits that convert from and to float.
//
// All conversions round to nearest even. fp8 saturates to the largest finite value and goes through half, as NCCL's
// kernels do; half and bfloat16 overflow to infinity.
#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace cpudev {

inline uint32_t float_bits(float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  return u;
}
inline float bits_float(uint32_t u) {
  float f;
  memcpy(&f, &u, 4);
  return f;
}

struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float f) {
    const uint32_t u = float_bits(f);
    const bool nan = (u & 0x7fffffff) > 0x7f800000;
    bits = nan ? uint16_t{0x7fff} : static_cast<uint16_t>((u + 0x7fff + ((u >> 16) & 1)) >> 16);
  }
  explicit operator float() const { return bits_float(uint32_t{bits} << 16); }
};

// A format with Exponent and Mantissa bits, subnormals, and a largest finite pattern; Infinity 0 means it has none.
template <class Bits, int Exponent, int Mantissa, uint32_t Largest, uint32_t Infinity, uint32_t NaN>
struct SmallFloat {
  static constexpr int kBias = (1 << (Exponent - 1)) - 1;
  static constexpr uint32_t kSign = 1u << (Exponent + Mantissa);

  static float value_of(uint32_t bits) {
    const uint32_t magnitude = bits & (kSign - 1), m = magnitude & ((1u << Mantissa) - 1);
    const float sign = bits & kSign ? -1.0f : 1.0f;
    const int e = static_cast<int>(magnitude >> Mantissa);
    if (magnitude > Largest) return Infinity && magnitude == Infinity ? sign * HUGE_VALF : std::nanf("");
    if (e == 0) return sign * std::ldexp(static_cast<float>(m), 1 - kBias - Mantissa);
    return sign * std::ldexp(static_cast<float>(m | 1u << Mantissa), e - kBias - Mantissa);
  }
  static float decode(Bits b) {
    static const auto table = [] {
      std::array<float, 2 * kSign> t;
      for (uint32_t i = 0; i < t.size(); i++) t[i] = value_of(i);
      return t;
    }();
    return table[b];
  }
  // overflow: the pattern for what is too large.
  static Bits encode(float f, uint32_t overflow) {
    constexpr uint32_t kFloatInfinity = 0x7f800000;
    constexpr int kShift = 23 - Mantissa;
    constexpr uint32_t kSmallestNormal = static_cast<uint32_t>(127 + 1 - kBias) << 23;
    const uint32_t u = float_bits(f), a = u & 0x7fffffff, sign = u >> 31 ? kSign : 0;
    if (a > kFloatInfinity) return static_cast<Bits>(NaN);
    if (a == kFloatInfinity) return static_cast<Bits>(sign | overflow);
    uint32_t magnitude;
    if (a < kSmallestNormal) {
      // Adding a power of two whose last place is the format's smallest number makes the FPU round to it.
      constexpr uint32_t kMagic = static_cast<uint32_t>(127 + 1 - kBias + kShift) << 23;
      magnitude = float_bits(bits_float(a) + bits_float(kMagic)) - kMagic;
    } else {
      const uint32_t rebased = a - (static_cast<uint32_t>(127 - kBias) << 23);
      magnitude = (rebased + (1u << (kShift - 1)) - 1 + (rebased >> kShift & 1)) >> kShift;
    }
    return static_cast<Bits>(sign | (magnitude > Largest ? overflow : magnitude));
  }
};

struct Half {
  using Format = SmallFloat<uint16_t, 5, 10, 0x7bff, 0x7c00, 0x7fff>;
  uint16_t bits = 0;
  Half() = default;
  explicit Half(float f) : bits(Format::encode(f, 0x7c00)) {}
  explicit operator float() const { return Format::decode(bits); }
};
struct E4M3 {
  using Format = SmallFloat<uint8_t, 4, 3, 0x7e, 0, 0x7f>;
  uint8_t bits = 0;
  E4M3() = default;
  explicit E4M3(float f) : bits(Format::encode(static_cast<float>(Half(f)), 0x7e)) {}
  explicit operator float() const { return Format::decode(bits); }
};
struct E5M2 {
  using Format = SmallFloat<uint8_t, 5, 2, 0x7b, 0x7c, 0x7f>;
  uint8_t bits = 0;
  E5M2() = default;
  explicit E5M2(float f) : bits(Format::encode(static_cast<float>(Half(f)), 0x7b)) {}
  explicit operator float() const { return Format::decode(bits); }
};

}  // namespace cpudev
