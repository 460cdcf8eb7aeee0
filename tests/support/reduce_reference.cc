#include "tests/support/reduce_reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <type_traits>

namespace fanin::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Format {
  int exponent_bits, mantissa_bits;
  bool infinity;  // the largest exponent is Inf and NaN
  bool saturates;
  uint16_t nan;
};
Format format_of(DType type) {
  switch (type) {
    case DType::kF16:
      return {5, 10, true, false, 0x7e00};
    case DType::kBF16:
      return {8, 7, true, false, 0x7fc0};
    case DType::kE4M3:
      return {4, 3, false, true, 0x7f};
    default:
      return {5, 2, true, true, 0x7e};
  }
}

// Values of all magnitudes (codes without sign), ascending; NaN codes left out. Where the format has an
// infinity its entry is the power of two beyond the largest finite value, which is where rounding begins to
// reach it.
struct Values {
  std::vector<double> of_code;
  bool infinity;
};
const Values& values_of(DType type) {
  static std::map<DType, Values> tables;
  Values& table = tables[type];
  if (!table.of_code.empty()) return table;
  const Format f = format_of(type);
  const int bias = (1 << (f.exponent_bits - 1)) - 1, mantissas = 1 << f.mantissa_bits;
  for (int exponent = 0; exponent < 1 << f.exponent_bits; exponent++) {
    for (int mantissa = 0; mantissa < mantissas; mantissa++) {
      const bool top = exponent == (1 << f.exponent_bits) - 1;
      if (top && (f.infinity ? mantissa > 0 : mantissa == mantissas - 1)) continue;
      const double fraction = static_cast<double>(mantissa) / mantissas;
      table.of_code.push_back(exponent == 0 ? std::ldexp(fraction, 1 - bias)
                                            : std::ldexp(1 + fraction, exponent - bias));
    }
  }
  table.infinity = f.infinity;
  return table;
}

template <class T>
T get(const void* p, size_t i) {
  T v;
  memcpy(&v, static_cast<const char*>(p) + i * sizeof(T), sizeof(T));
  return v;
}
template <class T>
void set(void* p, size_t i, T v) {
  memcpy(static_cast<char*>(p) + i * sizeof(T), &v, sizeof(T));
}

template <class T>
T apply(RedOp op, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    // glibc's fmax and fmin return a NaN for a signalling one; the contract (and CUDA) ignores either kind.
    if (op == RedOp::kMax || op == RedOp::kMin) {
      if (std::isnan(a)) return b;
      if (std::isnan(b)) return a;
    }
    switch (op) {
      case RedOp::kSum:
        return a + b;
      case RedOp::kProd:
        return a * b;
      case RedOp::kMax:
        return a == b ? a : std::fmax(a, b);
      default:
        return a == b ? a : std::fmin(a, b);
    }
  } else {
    const auto wide_a = static_cast<unsigned __int128>(a), wide_b = static_cast<unsigned __int128>(b);
    switch (op) {
      case RedOp::kSum:
        return static_cast<T>(wide_a + wide_b);
      case RedOp::kProd:
        return static_cast<T>(wide_a * wide_b);
      case RedOp::kMax:
        return a < b ? b : a;
      default:
        return b < a ? b : a;
    }
  }
}

template <class T>
void plain(RedOp op, void* out, const void* const* in, size_t n, size_t count) {
  for (size_t i = 0; i < count; i++) {
    T acc = get<T>(in[0], i);
    for (size_t r = 1; r < n; r++) acc = apply(op, acc, get<T>(in[r], i));
    if (std::is_floating_point_v<T> && acc != acc) {
      acc = std::numeric_limits<T>::quiet_NaN();
    }
    set(out, i, acc);
  }
}

template <class Bits>
void small(DType type, RedOp op, void* out, const void* const* in, size_t n, size_t count) {
  static std::map<DType, std::vector<float>> decoded;
  std::vector<float>& values = decoded[type];
  for (size_t code = values.size(); code < size_t{1} << (8 * sizeof(Bits)); code++) {
    values.push_back(decode_small(type, static_cast<uint16_t>(code)));
  }
  for (size_t i = 0; i < count; i++) {
    float acc = values[get<Bits>(in[0], i)];
    for (size_t r = 1; r < n; r++) acc = apply(op, acc, values[get<Bits>(in[r], i)]);
    set(out, i, static_cast<Bits>(encode_small(type, acc)));
  }
}

}  // namespace

float decode_small(DType type, uint16_t bits) {
  const Values& table = values_of(type);
  const unsigned sign = 1u << (8 * dtype_size(type) - 1), code = bits & (sign - 1);
  double value = code < table.of_code.size() ? table.of_code[code] : std::nan("");
  if (table.infinity && code == table.of_code.size() - 1) value = kInf;
  return static_cast<float>(bits & sign ? -value : value);
}

uint16_t encode_small(DType type, float value) {
  const Format f = format_of(type);
  if (std::isnan(value)) return f.nan;
  const std::vector<double>& table = values_of(type).of_code;
  const double magnitude = std::fabs(static_cast<double>(value));
  const auto above = std::upper_bound(table.begin(), table.end(), magnitude);
  size_t code = static_cast<size_t>(above - table.begin()) - 1;  // the largest not beyond
  if (above != table.end()) {
    const double middle = (table[code] + *above) / 2;
    if (magnitude > middle || (magnitude == middle && code % 2 == 1)) code++;
  }
  const size_t last_finite = table.size() - (f.infinity ? 2 : 1);
  if (f.saturates) code = std::min(code, last_finite);
  const unsigned sign = std::signbit(value) ? 1u << (8 * dtype_size(type) - 1) : 0;
  return static_cast<uint16_t>(code | sign);
}

void reduce_reference(DType type, RedOp op, void* out, const void* const* in, size_t n, size_t count) {
  switch (type) {
    case DType::kI8:
      return plain<int8_t>(op, out, in, n, count);
    case DType::kU8:
      return plain<uint8_t>(op, out, in, n, count);
    case DType::kI32:
      return plain<int32_t>(op, out, in, n, count);
    case DType::kU32:
      return plain<uint32_t>(op, out, in, n, count);
    case DType::kI64:
      return plain<int64_t>(op, out, in, n, count);
    case DType::kU64:
      return plain<uint64_t>(op, out, in, n, count);
    case DType::kF32:
      return plain<float>(op, out, in, n, count);
    case DType::kF64:
      return plain<double>(op, out, in, n, count);
    case DType::kF16:
    case DType::kBF16:
      return small<uint16_t>(type, op, out, in, n, count);
    case DType::kE4M3:
    case DType::kE5M2:
      return small<uint8_t>(type, op, out, in, n, count);
  }
}

bool is_float(DType type) { return type >= DType::kF16; }

std::vector<uint64_t> special_values(DType type) {
  const int width = static_cast<int>(8 * dtype_size(type));
  const uint64_t sign = uint64_t{1} << (width - 1), all = sign | (sign - 1);
  std::vector<uint64_t> v = {
      0, 1, 2, 3, sign - 1, sign, sign + 1, all - 1, all, all / 3, uint64_t{1} << (width / 2)};
  if (!is_float(type)) return v;
  int mantissa = 0;
  switch (type) {
    case DType::kF32:
      mantissa = 23;
      break;
    case DType::kF64:
      mantissa = 52;
      break;
    default:
      mantissa = format_of(type).mantissa_bits;
  }
  const uint64_t unit = uint64_t{1} << mantissa;  // the smallest normal
  const uint64_t top = (sign - 1) & ~(unit - 1);  // Inf
  const uint64_t one = (top >> 1) & ~(unit - 1);  // 1.0
  for (uint64_t m : {unit - 1, unit, unit + 1, unit / 2, top - unit, top - 1, top, top + 1, top + unit / 2,
                     one - 1, one, one + 1, one + unit / 2, one + unit, top / 2}) {
    v.push_back(m);
    v.push_back(m | sign);
  }
  return v;
}

std::vector<uint8_t> sample(DType type, size_t count, std::mt19937& random) {
  const size_t size = dtype_size(type);
  const std::vector<uint64_t> specials = special_values(type);
  std::vector<uint8_t> bytes(count * size);
  for (size_t i = 0; i < count; i++) {
    uint64_t v = (uint64_t{random()} << 32) | random();
    const unsigned kind = random() % 3;
    if (kind == 1) {
      const double x = (static_cast<double>(v >> 40) - 8388608) / 4194304;  // [-2, 2)
      if (type == DType::kF32) {
        const float f = static_cast<float>(x);
        memcpy(&v, &f, sizeof f);
      } else if (type == DType::kF64) {
        memcpy(&v, &x, sizeof x);
      } else if (is_float(type)) {
        v = encode_small(type, static_cast<float>(x));
      }
    } else if (kind == 2) {
      v = specials[random() % specials.size()];
    }
    memcpy(bytes.data() + i * size, &v, size);
  }
  return bytes;
}

}  // namespace fanin::test
