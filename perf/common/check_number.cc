#include "perf/common/check_number.h"

#include <cassert>
#include <cmath>
#include <limits>

namespace fanin::perf {

double FloatFormat::unit_roundoff() const { return std::ldexp(1.0, -precision()); }
double FloatFormat::min_subnormal() const { return std::ldexp(1.0, 1 - bias - mantissa_bits); }

FloatFormat float_format(DType t) {
  switch (t) {
    case DType::kF16:
      return {5, 10, 15, true};
    case DType::kBF16:
      return {8, 7, 127, true};
    case DType::kF32:
      return {8, 23, 127, true};
    case DType::kE4M3:
      return {4, 3, 7, false};
    case DType::kE5M2:
      return {5, 2, 15, true};
    default:
      return {11, 52, 1023, true};
  }
}

double decode(const FloatFormat& f, uint64_t bits) {
  const uint64_t mantissa = bits & ((uint64_t{1} << f.mantissa_bits) - 1);
  const int top = (1 << f.exponent_bits) - 1;
  const int exponent = static_cast<int>(bits >> f.mantissa_bits) & top;
  const bool negative = bits >> (f.mantissa_bits + f.exponent_bits) & 1;
  double value;
  if (exponent == top && f.has_infinity) {
    value = mantissa ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  } else if (exponent == top && mantissa == (uint64_t{1} << f.mantissa_bits) - 1) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<double>(mantissa), 1 - f.bias - f.mantissa_bits);
  } else {
    value = std::ldexp(static_cast<double>(mantissa | uint64_t{1} << f.mantissa_bits),
                       exponent - f.bias - f.mantissa_bits);
  }
  return negative ? -value : value;
}

uint64_t encode_exact(const FloatFormat& f, double value) {
  const uint64_t sign = uint64_t{std::signbit(value)} << (f.mantissa_bits + f.exponent_bits);
  if (value == 0) return sign;
  int exponent;
  const double fraction = std::frexp(std::fabs(value), &exponent);  // [0.5, 1)
  const uint64_t significand = static_cast<uint64_t>(std::ldexp(fraction, f.precision()));
  const uint64_t biased = static_cast<uint64_t>(exponent - 1 + f.bias);
  const uint64_t bits =
      sign | biased << f.mantissa_bits | (significand & ((uint64_t{1} << f.mantissa_bits) - 1));
  assert(exponent - 1 + f.bias > 0 && decode(f, bits) == value);
  return bits;
}

}  // namespace fanin::perf
