// Storage types for half, bfloat16 and both fp8 formats: bits that convert from and to float.
//
// All conversions round to nearest even. fp8 saturates to the largest finite value and goes through half, as
// NCCL's kernels do; half and bfloat16 overflow to infinity.
#pragma once
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

// A format with Exponent and Mantissa bits, subnormals, and a largest finite pattern; Infinity 0 means it has
// none.
template <class Bits, int Exponent, int Mantissa, unsigned Largest, unsigned Infinity, unsigned NaN>
struct SmallFloat {
  static constexpr int kBias = (1 << (Exponent - 1)) - 1;
  static constexpr unsigned kSign = 1u << (Exponent + Mantissa);

  static float decode(Bits b) {
    const unsigned magnitude = b & (kSign - 1);
    const float sign = b & kSign ? -1.0f : 1.0f;
    if (magnitude > Largest) return Infinity && magnitude == Infinity ? sign * HUGE_VALF : std::nanf("");
    const int e = static_cast<int>(magnitude >> Mantissa);
    const unsigned m = magnitude & ((1u << Mantissa) - 1);
    if (e == 0) return sign * std::ldexp(static_cast<float>(m), 1 - kBias - Mantissa);
    return sign * std::ldexp(static_cast<float>(m | 1u << Mantissa), e - kBias - Mantissa);
  }
  // overflow: the pattern for what is too large.
  static Bits encode(float f, unsigned overflow) {
    const unsigned sign = std::signbit(f) ? kSign : 0;
    const float a = std::fabs(f);
    if (std::isnan(f)) return static_cast<Bits>(NaN);
    if (a == 0) return static_cast<Bits>(sign);
    if (std::isinf(a)) return static_cast<Bits>(sign | overflow);
    int e = std::ilogb(a);
    if (e < 1 - kBias) e = 1 - kBias;
    auto m = static_cast<unsigned>(
        std::nearbyint(std::ldexp(a, Mantissa - e)));  // exact but for the last rounding
    if (m == 2u << Mantissa) {
      m >>= 1;
      e++;
    }
    if (e > kBias + 1) return static_cast<Bits>(sign | overflow);
    const unsigned magnitude =
        m < 1u << Mantissa ? m : static_cast<unsigned>(e + kBias) << Mantissa | (m - (1u << Mantissa));
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
