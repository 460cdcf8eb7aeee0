#include "perf/common/check.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "perf/common/check_number.h"

namespace fanin::perf {
namespace {

// Calls piece(offset into the period, offset into the buffer, elements) for each run that does not wrap
// around.
template <class F>
void each_run(uint64_t first, size_t count, F piece) {
  size_t at = first % Checker::kPeriod;
  for (size_t done = 0; done < count; at = 0) {
    const size_t n = std::min(count - done, Checker::kPeriod - at);
    piece(at, done, n);
    done += n;
  }
}

size_t differing(const uint8_t* a, const uint8_t* b, size_t count, size_t size) {
  if (memcmp(a, b, count * size) == 0) return 0;
  size_t wrong = 0;
  for (size_t i = 0; i < count; i++) wrong += memcmp(a + i * size, b + i * size, size) != 0;
  return wrong;
}

int64_t sign_extended(uint64_t bits, size_t size) {
  const int shift = 64 - static_cast<int>(size) * 8;
  return static_cast<int64_t>(bits << shift) >> shift;
}

uint64_t low_bytes(uint64_t bits, size_t size) {
  return size == 8 ? bits : bits & ((uint64_t{1} << size * 8) - 1);
}

// Roundoff of the type a narrow float's arithmetic may go through on its way.
double wider_roundoff(DType t) {
  if (t == DType::kE4M3 || t == DType::kE5M2) return float_format(DType::kF16).unit_roundoff();
  if (t == DType::kF16 || t == DType::kBF16) return float_format(DType::kF32).unit_roundoff();
  return 0;
}

}  // namespace

Checker::Checker(DType type, CheckOp op, int nranks)
    : type_(type), op_(op), nranks_(nranks), values_(type, op, nranks) {
  if (is_float(type)) {
    // Decoding by table where one is small: checking should not take longer than what it checks.
    if (const size_t size = dtype_size(type); size <= 2)
      for (uint64_t bits = 0; bits < uint64_t{1} << size * 8; bits++)
        decoded_.push_back(static_cast<float>(decode(float_format(type), bits)));
    expect_reals();
  } else {
    expect_integers();
  }
}

std::vector<uint8_t> Checker::table_of(int rank) const {
  const size_t size = dtype_size(type_);
  std::vector<uint8_t> table(kPeriod * size);
  for (size_t i = 0; i < kPeriod; i++) {
    const uint64_t bits = values_.bits(rank, i);
    memcpy(&table[i * size], &bits, size);  // little-endian, as NCCL's platforms are
  }
  return table;
}

void Checker::fill(int rank, uint64_t first, void* dst, size_t count) const {
  const size_t size = dtype_size(type_);
  const std::vector<uint8_t> table = table_of(rank);
  auto* out = static_cast<uint8_t*>(dst);
  each_run(first, count,
           [&](size_t at, size_t done, size_t n) { memcpy(out + done * size, &table[at * size], n * size); });
}

size_t Checker::count_wrong_copy(int rank, uint64_t first, const void* got, size_t count) const {
  const size_t size = dtype_size(type_);
  const std::vector<uint8_t> table = table_of(rank);
  auto* in = static_cast<const uint8_t*>(got);
  size_t wrong = 0;
  each_run(first, count, [&](size_t at, size_t done, size_t n) {
    wrong += differing(in + done * size, &table[at * size], n, size);
  });
  return wrong;
}

void Checker::expect_integers() {
  const size_t size = dtype_size(type_);
  const bool is_signed = is_signed_int(type_);
  integers_.resize(kPeriod * size);
  for (size_t i = 0; i < kPeriod; i++) {
    uint64_t acc = low_bytes(values_.bits(0, i), size);
    for (int r = 1; r < nranks_; r++) {
      const uint64_t x = low_bytes(values_.bits(r, i), size);
      const bool x_less = is_signed ? sign_extended(x, size) < sign_extended(acc, size) : x < acc;
      switch (op_) {
        case CheckOp::kSum:
        case CheckOp::kAvg:
          acc = low_bytes(acc + x, size);
          break;
        case CheckOp::kProd:
          acc = low_bytes(acc * x, size);
          break;
        case CheckOp::kMax:
          acc = x_less ? acc : x;
          break;
        case CheckOp::kMin:
          acc = x_less ? x : acc;
          break;
      }
    }
    if (op_ == CheckOp::kAvg)
      acc = is_signed ? static_cast<uint64_t>(sign_extended(acc, size) / nranks_)
                      : acc / static_cast<uint64_t>(nranks_);
    memcpy(&integers_[i * size], &acc, size);
  }
}

void Checker::expect_reals() {
  const FloatFormat format = float_format(type_);
  const long double rounding = (1 + static_cast<long double>(format.unit_roundoff())) *
                               (1 + static_cast<long double>(wider_roundoff(type_)));
  expected_.resize(kPeriod);
  tolerance_.resize(kPeriod);
  for (size_t i = 0; i < kPeriod; i++) {
    // long double: more than every type under test, so that double results are checked too.
    long double acc = decode(format, values_.bits(0, i)), magnitude = std::fabs(acc);
    for (int r = 1; r < nranks_; r++) {
      const long double x = decode(format, values_.bits(r, i));
      magnitude += std::fabs(x);
      switch (op_) {
        case CheckOp::kSum:
        case CheckOp::kAvg:
          acc += x;
          break;
        case CheckOp::kProd:
          acc *= x;
          break;
        case CheckOp::kMax:
          acc = std::max(acc, x);
          break;
        case CheckOp::kMin:
          acc = std::min(acc, x);
          break;
      }
    }
    const int m = values_.participants(i);
    long double tolerance = 0;
    if (op_ == CheckOp::kAvg) {
      const long double tiny = format.min_subnormal();
      acc /= nranks_;
      tolerance = nranks_ == 1
                      ? 0
                      : (std::pow(rounding, m + 2) - 1) * magnitude / nranks_ + (m + 1 + magnitude) * tiny;
    } else if (!values_.exact(i) && m > 1) {
      tolerance = (std::pow(rounding, m) - 1) * (op_ == CheckOp::kProd ? std::fabs(acc) : magnitude);
    }
    expected_[i] = static_cast<double>(acc);
    // The expected value itself is rounded to double here, which shows in double results only.
    tolerance_[i] = static_cast<double>(tolerance);
    if (tolerance > 0) tolerance_[i] += std::fabs(expected_[i]) * 0x1p-53;
  }
}

template <class T>
size_t Checker::count_wrong_reals(uint64_t first, const T* got, size_t count) const {
  size_t wrong = 0;
  each_run(first, count, [&](size_t at, size_t done, size_t n) {
    for (size_t i = 0; i < n; i++) {
      double value;
      if constexpr (std::is_floating_point_v<T>) {
        value = got[done + i];
      } else {
        value = static_cast<double>(decoded_[got[done + i]]);
      }
      wrong += !(std::fabs(value - expected_[at + i]) <= tolerance_[at + i]);  // a NaN is wrong
    }
  });
  return wrong;
}

size_t Checker::count_wrong(uint64_t first, const void* got, size_t count) const {
  const size_t size = dtype_size(type_);
  if (!is_float(type_)) {
    auto* in = static_cast<const uint8_t*>(got);
    size_t wrong = 0;
    each_run(first, count, [&](size_t at, size_t done, size_t n) {
      wrong += differing(in + done * size, &integers_[at * size], n, size);
    });
    return wrong;
  }
  switch (type_) {
    case DType::kF32:
      return count_wrong_reals(first, static_cast<const float*>(got), count);
    case DType::kF64:
      return count_wrong_reals(first, static_cast<const double*>(got), count);
    case DType::kF16:
    case DType::kBF16:
      return count_wrong_reals(first, static_cast<const uint16_t*>(got), count);
    default:
      return count_wrong_reals(first, static_cast<const uint8_t*>(got), count);
  }
}

}  // namespace fanin::perf
