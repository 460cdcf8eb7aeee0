#include "perf/common/check_values.h"

#include <algorithm>
#include <cmath>

#include "perf/common/check_number.h"

namespace fanin::perf {
namespace {

// SplitMix64's finalizer: every output bit depends on every input bit.
constexpr uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}
uint64_t of_element(uint64_t element) { return mix(element ^ 0x5bd1e995u); }
uint64_t of_rank(int rank, uint64_t element) {
  return mix(of_element(element) + static_cast<uint64_t>(rank) * 0x2545f4914f6cdd1du);
}

// Ranks that may take part per element, by what the format's bits can carry.
struct Limits {
  int exact_sum, general_sum, general_prod;
  int scale_min, scale_max;  // exponents of the exact sums' power of two
};
Limits limits(DType t) {
  switch (t) {
    case DType::kE5M2:
      return {4, 3, 2, -4, 4};
    case DType::kE4M3:
      return {8, 4, 3, -2, 4};
    case DType::kBF16:
      return {64, 64, 8, -8, 8};
    case DType::kF16:
      return {512, 256, 8, -4, 4};
    default:
      return {1 << 20, 1 << 20, 16, -8, 8};
  }
}
constexpr int kExactProd = 8;

double signed_by(uint64_t bit, double magnitude) { return bit & 1 ? -magnitude : magnitude; }

}  // namespace

const char* check_op_name(CheckOp op) {
  constexpr const char* names[kNumCheckOps] = {"sum", "prod", "max", "min", "avg"};
  return static_cast<unsigned>(op) < kNumCheckOps ? names[static_cast<unsigned>(op)] : "?";
}

bool Values::exact(uint64_t element) const {
  if (!is_float(type_) || op_ == CheckOp::kMax || op_ == CheckOp::kMin) return true;
  return op_ != CheckOp::kAvg && (of_element(element) >> 60 & 1);
}

int Values::participants(uint64_t element) const {
  if (!is_float(type_) || op_ == CheckOp::kMax || op_ == CheckOp::kMin) return nranks_;
  const Limits l = limits(type_);
  if (op_ == CheckOp::kProd) return std::min(nranks_, exact(element) ? kExactProd : l.general_prod);
  return std::min(nranks_, exact(element) ? l.exact_sum : l.general_sum);
}

bool Values::takes_part(int rank, uint64_t element) const {
  const uint64_t n = static_cast<uint64_t>(nranks_);
  return (static_cast<uint64_t>(rank) + (of_element(element) >> 8) % n) % n <
         static_cast<uint64_t>(participants(element));
}

uint64_t Values::bits(int rank, uint64_t element) const {
  if (!is_float(type_)) return integer(rank, element);
  return encode_exact(float_format(type_), real(rank, element));
}

uint64_t Values::integer(int rank, uint64_t element) const {
  if (op_ == CheckOp::kProd) return of_rank(rank, element) | 1;  // odd: no factor wipes out the others
  if (op_ != CheckOp::kAvg) return of_rank(rank, element);
  // The sum is nranks times a base that everybody shares, without overflow, so the quotient is exact however
  // an implementation rounds. Neighbours deviate from the base by opposite amounts.
  const int width = static_cast<int>(dtype_size(type_)) * 8;
  const uint64_t max = (is_signed_int(type_) ? uint64_t{1} << (width - 1)
                        : width == 64        ? 0
                                             : uint64_t{1} << width) -
                       1;
  const uint64_t room = max / static_cast<uint64_t>(nranks_);
  const uint64_t shared = of_element(element);
  uint64_t base = room == ~uint64_t{0} ? shared : shared % (room + 1);
  if (nranks_ > 1) base /= 2;  // leaves the deviation its room
  uint64_t deviation = 0;
  if (rank / 2 * 2 + 1 < nranks_) deviation = of_rank(rank / 2, element) % (std::min(base, max / 4) + 1);
  if (is_signed_int(type_) && shared >> 63) base = -base;
  return rank % 2 ? base - deviation : base + deviation;
}

double Values::real(int rank, uint64_t element) const {
  const FloatFormat f = float_format(type_);
  const Limits l = limits(type_);
  const uint64_t e = of_element(element), h = of_rank(rank, element);
  const uint64_t fraction_mask = (uint64_t{1} << f.mantissa_bits) - 1;
  const double significand =
      1 + std::ldexp(static_cast<double>(h & fraction_mask), -f.mantissa_bits);  // [1, 2)
  const uint64_t r = mix(h);  // bits independent of the significand
  if (op_ == CheckOp::kMax || op_ == CheckOp::kMin)
    return signed_by(r, std::ldexp(significand, static_cast<int>(r >> 8 & 3) - 2));
  const bool in = takes_part(rank, element);
  if (op_ == CheckOp::kProd) {
    if (!in) return signed_by(r, 1);
    if (exact(element)) {
      // Half of the participants may double, half may halve: no partial product leaves 2^-4 … 2^4.
      const int way = (rank & 1) ^ static_cast<int>(e & 1) ? 1 : -1;
      return signed_by(r, std::ldexp(1.0, way * static_cast<int>(r >> 8 & 1)));
    }
    return signed_by(r, significand < 1.5 ? significand : significand / 2);  // [0.75, 1.5)
  }
  if (!in) return 0;
  if (exact(element)) {
    const uint64_t budget = (uint64_t{1} << f.precision()) / static_cast<uint64_t>(participants(element));
    const double integer = static_cast<double>(1 + h % budget);
    const int scale =
        l.scale_min + static_cast<int>((e >> 4) % static_cast<uint64_t>(l.scale_max - l.scale_min + 1));
    return signed_by(r, std::ldexp(integer, scale));
  }
  return signed_by(r, std::ldexp(significand, static_cast<int>((r >> 8) % 3) - 1));
}

}  // namespace fanin::perf
