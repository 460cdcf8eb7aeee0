// The floating-point formats as the checker sees them: bits to double and back, written without the reducer's
// kernels so that a mistake there cannot hide itself. Pure functions.
#pragma once
#include <cstdint>

#include "fanin/dtype.h"

namespace fanin::perf {

struct FloatFormat {
  int exponent_bits, mantissa_bits, bias;
  bool has_infinity;  // e4m3 has none and keeps its top exponent for numbers
  // Significant bits, the hidden one included: integers up to 2^precision are exact.
  constexpr int precision() const { return mantissa_bits + 1; }
  double unit_roundoff() const;  // half a unit in the last place of 1: 2^-precision
  double min_subnormal() const;
};

constexpr bool is_float(DType t) {
  return t == DType::kF16 || t == DType::kF32 || t == DType::kF64 || t == DType::kBF16 || t == DType::kE4M3 ||
         t == DType::kE5M2;
}
constexpr bool is_signed_int(DType t) { return t == DType::kI8 || t == DType::kI32 || t == DType::kI64; }

// Of a float type.
FloatFormat float_format(DType t);

// Every format's values are doubles.
double decode(const FloatFormat& f, uint64_t bits);
// The bits of a normal number or zero that the format holds exactly; any other value is a bug of the caller
// (assert).
uint64_t encode_exact(const FloatFormat& f, double value);

}  // namespace fanin::perf
