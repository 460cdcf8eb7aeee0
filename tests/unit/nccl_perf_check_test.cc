// The checker against reductions done here in the types' own arithmetic: right results pass in every order of
// adding, wrong ones are counted.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "perf/common/check.h"
#include "perf/common/check_number.h"

namespace fanin::perf {
namespace {

constexpr size_t kCount = 800;

std::vector<DType> all_types() {
  std::vector<DType> out;
  for (int i = 0; i < kNumDTypes; i++) out.push_back(static_cast<DType>(i));
  return out;
}
std::vector<CheckOp> all_ops() {
  return {CheckOp::kSum, CheckOp::kProd, CheckOp::kMax, CheckOp::kMin, CheckOp::kAvg};
}
std::string label(DType t, CheckOp op, int n) {
  return std::string(dtype_name(t)) + " " + check_op_name(op) + " of " + std::to_string(n);
}

// Nearest, ties to even, as bits: an encoder of the test's own.
uint64_t rounded(const FloatFormat& f, double v) {
  if (v == 0) return 0;
  int e;
  std::frexp(v, &e);
  const double quantum = std::ldexp(1.0, std::max(e - f.precision(), 1 - f.bias - f.mantissa_bits));
  const double r = std::nearbyint(v / quantum) * quantum;
  std::frexp(r, &e);  // rounding may have carried
  const int exponent = std::max(e - 1 + f.bias, 0);
  const double step = std::ldexp(1.0, std::max(exponent, 1) - f.bias - f.mantissa_bits);
  const uint64_t mantissa =
      static_cast<uint64_t>(std::fabs(r) / step) & ((uint64_t{1} << f.mantissa_bits) - 1);
  const uint64_t bits = static_cast<uint64_t>(exponent) << f.mantissa_bits | mantissa;
  EXPECT_EQ(decode(f, bits), std::fabs(r)) << v << " does not fit";
  return uint64_t{r < 0} << (f.mantissa_bits + f.exponent_bits) | bits;
}
double round_trip(const FloatFormat& f, double v) { return decode(f, rounded(f, v)); }

double combine(CheckOp op, double a, double b) {
  switch (op) {
    case CheckOp::kProd:
      return a * b;
    case CheckOp::kMax:
      return std::fmax(a, b);
    case CheckOp::kMin:
      return std::fmin(a, b);
    default:
      return a + b;
  }
}

enum class Order { kPairwise, kPairwiseReversed, kTree, kWideOnce };

uint64_t reduce_real(DType t, CheckOp op, std::vector<double> x, Order order) {
  const FloatFormat f = float_format(t);
  const double scale = op == CheckOp::kAvg ? round_trip(f, 1.0 / static_cast<double>(x.size())) : 1;
  if (op == CheckOp::kAvg)
    for (double& v : x) v = round_trip(f, v * scale);
  if (order == Order::kPairwiseReversed) std::reverse(x.begin(), x.end());
  if (order == Order::kTree) {
    while (x.size() > 1) {
      std::vector<double> next;
      for (size_t i = 0; i + 1 < x.size(); i += 2) next.push_back(round_trip(f, combine(op, x[i], x[i + 1])));
      if (x.size() % 2) next.push_back(x.back());
      x = next;
    }
    return rounded(f, x[0]);
  }
  double acc = x[0];
  for (size_t i = 1; i < x.size(); i++) {
    acc = combine(op, acc, x[i]);
    if (order != Order::kWideOnce) acc = round_trip(f, acc);
    if (order == Order::kWideOnce && t != DType::kF64) acc = static_cast<float>(acc);
  }
  return rounded(f, acc);
}

uint64_t mask(DType t) { return dtype_size(t) == 8 ? ~uint64_t{0} : (uint64_t{1} << dtype_size(t) * 8) - 1; }

uint64_t reduce_integer(DType t, CheckOp op, const std::vector<uint64_t>& x) {
  auto value = [t](uint64_t bits) -> __int128 {
    switch (t) {
      case DType::kI8:
        return static_cast<int8_t>(bits);
      case DType::kI32:
        return static_cast<int32_t>(bits);
      case DType::kI64:
        return static_cast<int64_t>(bits);
      default:
        return bits & mask(t);
    }
  };
  __int128 exact_sum = 0;
  uint64_t acc = x[0];
  for (size_t i = 0; i < x.size(); i++) {
    exact_sum += value(x[i]);
    if (i == 0) continue;
    if (op == CheckOp::kSum) acc += x[i];
    if (op == CheckOp::kProd) acc *= x[i];
    if (op == CheckOp::kMax && value(x[i]) > value(acc)) acc = x[i];
    if (op == CheckOp::kMin && value(x[i]) < value(acc)) acc = x[i];
  }
  if (op == CheckOp::kAvg) {
    EXPECT_EQ(static_cast<int64_t>(exact_sum % static_cast<__int128>(x.size())), 0)
        << "the mean of the data must be a whole number";
    acc = static_cast<uint64_t>(exact_sum / static_cast<__int128>(x.size()));
  }
  return acc & mask(t);
}

// The result over the given ranks, kCount elements from first on.
std::vector<uint8_t> reduce(const Checker& c, DType t, CheckOp op, const std::vector<int>& ranks,
                            uint64_t first, Order order) {
  const size_t size = dtype_size(t);
  std::vector<std::vector<uint8_t>> in;
  for (const int r : ranks) {
    in.emplace_back(kCount * size);
    c.fill(r, first, in.back().data(), kCount);
  }
  std::vector<uint8_t> out(kCount * size);
  for (size_t i = 0; i < kCount; i++) {
    std::vector<uint64_t> x;
    std::vector<double> d;
    for (const auto& v : in) {
      uint64_t bits = 0;
      memcpy(&bits, &v[i * size], size);
      x.push_back(bits);
      if (is_float(t)) d.push_back(decode(float_format(t), bits));
    }
    const uint64_t r = is_float(t) ? reduce_real(t, op, d, order) : reduce_integer(t, op, x);
    memcpy(&out[i * size], &r, size);
  }
  return out;
}

std::vector<int> upto(int n) {
  std::vector<int> r(static_cast<size_t>(n));
  std::iota(r.begin(), r.end(), 0);
  return r;
}

TEST(NcclPerfCheck, RightResultsPassInEveryOrder) {
  for (const DType t : all_types())
    for (const CheckOp op : all_ops())
      for (const int n : {1, 2, 3, 10}) {
        const Checker c(t, op, n);
        for (const Order order :
             {Order::kPairwise, Order::kPairwiseReversed, Order::kTree, Order::kWideOnce}) {
          const uint64_t first = Checker::kPeriod - 300;  // runs over the period's end
          const auto got = reduce(c, t, op, upto(n), first, order);
          EXPECT_EQ(c.count_wrong(first, got.data(), kCount), 0u)
              << label(t, op, n) << ", order " << static_cast<int>(order);
          if (!is_float(t)) break;
        }
      }
}

TEST(NcclPerfCheck, ManyRanksStayInRange) {
  for (const DType t : {DType::kF16, DType::kBF16, DType::kE4M3, DType::kE5M2, DType::kI8})
    for (const CheckOp op : {CheckOp::kSum, CheckOp::kProd}) {
      const Checker c(t, op, 70);
      const auto got = reduce(c, t, op, upto(70), 5, Order::kPairwise);
      EXPECT_EQ(c.count_wrong(5, got.data(), kCount), 0u) << label(t, op, 70);
    }
}

TEST(NcclPerfCheck, LostRankIsWrong) {
  for (const DType t : all_types())
    for (const CheckOp op : all_ops()) {
      // The mean of 8-bit floats is rounded too coarsely to miss one of ten.
      if (op == CheckOp::kAvg && dtype_size(t) == 1 && is_float(t)) continue;
      const Checker c(t, op, 10);
      for (const int lost : {0, 4, 9}) {
        std::vector<int> ranks = upto(10);
        ranks.erase(ranks.begin() + lost);
        std::vector<uint8_t> got =
            reduce(c, t, op == CheckOp::kAvg ? CheckOp::kSum : op, ranks, 0, Order::kPairwise);
        EXPECT_GT(c.count_wrong(0, got.data(), kCount), kCount / 20)
            << label(t, op, 10) << " without rank " << lost;
      }
    }
}

TEST(NcclPerfCheck, RankCountedTwiceIsWrong) {
  for (const DType t : all_types()) {
    const Checker c(t, CheckOp::kSum, 5);
    const auto got = reduce(c, t, CheckOp::kSum, {0, 1, 2, 3, 4, 2}, 0, Order::kPairwise);
    EXPECT_GT(c.count_wrong(0, got.data(), kCount), kCount / 10) << dtype_name(t);
  }
}

TEST(NcclPerfCheck, FlippedBitIsFoundInEveryType) {
  for (const DType t : all_types())
    for (const CheckOp op : {CheckOp::kSum, CheckOp::kProd, CheckOp::kMax}) {
      const Checker c(t, op, 4);
      const auto right = reduce(c, t, op, upto(4), 0, Order::kPairwise);
      const size_t size = dtype_size(t);
      size_t lowest_found = 0, sign_tried = 0;
      for (size_t i = 0; i < 300; i++) {
        std::vector<uint8_t> got = right;
        got[i * size] ^= 1;
        const size_t low = c.count_wrong(0, got.data(), kCount);
        // A rounded float may be off by a last bit; integers and exact elements may not.
        if (!is_float(t)) {
          EXPECT_EQ(low, 1u) << label(t, op, 4) << " element " << i;
        }
        lowest_found += low;
        got = right;
        got[i * size + size - 1] ^= 0x80;
        // Where terms cancel, a rounded sum may be too near 0 for its sign to matter.
        if (is_float(t) && std::fabs(c.expected(i)) <= c.tolerance(i)) continue;
        sign_tried++;
        EXPECT_EQ(c.count_wrong(0, got.data(), kCount), 1u) << label(t, op, 4) << " sign of element " << i;
      }
      EXPECT_GT(sign_tried, 200u) << label(t, op, 4);
      EXPECT_GT(lowest_found, 100u) << label(t, op, 4);
    }
}

TEST(NcclPerfCheck, NanAndInfinityAreWrong) {
  for (const DType t : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64, DType::kE5M2}) {
    const Checker c(t, CheckOp::kSum, 3);
    auto got = reduce(c, t, CheckOp::kSum, upto(3), 0, Order::kPairwise);
    const size_t size = dtype_size(t);
    memset(&got[7 * size], 0xff, size);
    const FloatFormat f = float_format(t);
    const uint64_t infinity = ((uint64_t{1} << f.exponent_bits) - 1) << f.mantissa_bits;
    memcpy(&got[9 * size], &infinity, size);
    EXPECT_EQ(c.count_wrong(0, got.data(), kCount), 2u) << dtype_name(t);
  }
}

TEST(NcclPerfCheck, ShiftedOrStaleDataIsWrong) {
  for (const DType t : all_types()) {
    const Checker c(t, CheckOp::kSum, 4);
    const auto got = reduce(c, t, CheckOp::kSum, upto(4), 0, Order::kPairwise);
    for (const uint64_t shift : {1u, 257u, 4096u, 65536u, 1u << 20})
      EXPECT_GT(c.count_wrong(shift, got.data(), kCount), kCount / 4)
          << dtype_name(t) << " shifted by " << shift;
  }
}

TEST(NcclPerfCheck, CopiesMustBeTheRanksBits) {
  for (const DType t : all_types()) {
    const size_t size = dtype_size(t);
    const Checker c(t, CheckOp::kMax, 6);
    std::vector<uint8_t> got(kCount * size);
    c.fill(3, 11, got.data(), kCount);
    EXPECT_EQ(c.count_wrong_copy(3, 11, got.data(), kCount), 0u);
    EXPECT_GT(c.count_wrong_copy(2, 11, got.data(), kCount), kCount / 2) << dtype_name(t);
    got[5 * size] ^= 1;
    EXPECT_EQ(c.count_wrong_copy(3, 11, got.data(), kCount), 1u) << dtype_name(t);
  }
}

TEST(NcclPerfCheck, FormatsDecodeKnownBits) {
  EXPECT_EQ(decode(float_format(DType::kF16), 0x3c00), 1.0);
  EXPECT_EQ(decode(float_format(DType::kF16), 0xc000), -2.0);
  EXPECT_EQ(decode(float_format(DType::kF16), 1), 0x1p-24);
  EXPECT_EQ(decode(float_format(DType::kBF16), 0x4049), 3.140625);
  EXPECT_EQ(decode(float_format(DType::kE4M3), 0x7e), 448.0);
  EXPECT_TRUE(std::isnan(decode(float_format(DType::kE4M3), 0x7f)));
  EXPECT_EQ(decode(float_format(DType::kE4M3), 0x01), 0x1p-9);
  EXPECT_EQ(decode(float_format(DType::kE5M2), 0x7b), 57344.0);
  EXPECT_TRUE(std::isinf(decode(float_format(DType::kE5M2), 0xfc)));
  EXPECT_EQ(decode(float_format(DType::kF32), 0x40490fdb), static_cast<double>(3.14159274f));
  EXPECT_EQ(decode(float_format(DType::kF64), 0x400921fb54442d18), 3.141592653589793);
  for (int bits = 0; bits < 0x7800; bits += 7) {
    const double v = decode(float_format(DType::kF16), static_cast<uint64_t>(bits));
    if (bits >= 0x0400) {
      EXPECT_EQ(encode_exact(float_format(DType::kF16), v), static_cast<uint64_t>(bits));
    }
  }
}

}  // namespace
}  // namespace fanin::perf
