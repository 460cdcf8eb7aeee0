// Every SIMD level against the reference where values decide: all bits of the small types through decode and
// encode, all pairs of fp8, sums around rounding ties, overflow and underflow, special values of every type
// in twos and threes, NaN.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "reducer/kernels/reduce.h"
#include "tests/support/reduce_reference.h"

namespace fanin {
namespace {

using namespace test;

const DType kSmallTypes[] = {DType::kF16, DType::kBF16, DType::kE4M3, DType::kE5M2};

// Columns of input: element i of the result is the reduction of columns[0][i], columns[1][i], ….
using Columns = std::vector<std::vector<uint64_t>>;

// Compares every level with the reference on these columns; the first difference is reported with its
// operands.
void check(DType type, RedOp op, const Columns& columns) {
  const size_t size = dtype_size(type), count = columns[0].size();
  std::vector<std::vector<uint8_t>> in(columns.size());
  std::vector<const void*> pointers;
  for (size_t r = 0; r < columns.size(); r++) {
    in[r].resize(count * size);
    for (size_t i = 0; i < count; i++) memcpy(in[r].data() + i * size, &columns[r][i], size);
    pointers.push_back(in[r].data());
  }
  std::vector<uint8_t> want(count * size), got(count * size);
  reduce_reference(type, op, want.data(), pointers.data(), in.size(), count);
  for (const ReduceLevel& level : reduce_levels()) {
    level.fn(type, op)(got.data(), pointers.data(), in.size(), count);
    for (size_t i = 0; i < count; i++) {
      uint64_t g = 0, w = 0;
      memcpy(&g, got.data() + i * size, size);
      memcpy(&w, want.data() + i * size, size);
      if (g == w) continue;
      std::string operands;
      for (const auto& column : columns) operands += " " + testing::PrintToString(column[i]);
      FAIL() << level.name << " " << dtype_name(type) << " " << redop_name(op) << " of" << operands << " is "
             << g << ", not " << w;
    }
  }
}

void check_all_ops(DType type, const Columns& columns) {
  for (int o = 0; o < kNumRedOps; o++) check(type, redop_at(o), columns);
}

// All codes of a small type.
std::vector<uint64_t> all_codes(DType type) {
  std::vector<uint64_t> codes(size_t{1} << (8 * dtype_size(type)));
  for (size_t i = 0; i < codes.size(); i++) codes[i] = i;
  return codes;
}

// The result of one element on the best level.
uint64_t reduce_one(DType type, RedOp op, std::vector<uint64_t> operands) {
  std::vector<const void*> pointers;
  for (uint64_t& operand : operands) pointers.push_back(&operand);
  uint64_t out = 0;
  reduce_fn(type, op)(&out, pointers.data(), pointers.size(), 1);
  return out;
}

TEST(ReduceValues, EveryCodeOfASmallTypeSurvivesDecodeAndEncode) {
  for (DType type : kSmallTypes) {
    const std::vector<uint64_t> codes = all_codes(type);
    check_all_ops(type, {codes});
    for (uint64_t code : codes) {
      const float value = decode_small(type, static_cast<uint16_t>(code));
      if (type == DType::kE5M2 ? std::isfinite(value) : !std::isnan(value)) {
        ASSERT_EQ(reduce_one(type, RedOp::kSum, {code}), code) << dtype_name(type);
      }
    }
  }
}

TEST(ReduceValues, AllPairsOfFp8) {
  for (DType type : {DType::kE4M3, DType::kE5M2}) {
    Columns pairs(2);
    for (uint64_t a = 0; a < 256; a++) {
      for (uint64_t b = 0; b < 256; b++) {
        pairs[0].push_back(a);
        pairs[1].push_back(b);
      }
    }
    check_all_ops(type, pairs);
  }
}

// Every code of the half types against partners that put its sum on a tie, a hair above and a hair below it,
// and its product there too.
TEST(ReduceValues, EveryHalfAgainstTiesAndNeighbours) {
  for (DType type : {DType::kF16, DType::kBF16}) {
    const std::vector<uint64_t> codes = all_codes(type);
    std::vector<uint64_t> half_ulp, nearly, ratio;
    for (uint64_t code : codes) {
      const float value = decode_small(type, static_cast<uint16_t>(code));
      const float next = decode_small(type, static_cast<uint16_t>(code + 1));
      const float half = std::isfinite(value) && std::isfinite(next) ? (next - value) / 2 : 1.0f;
      half_ulp.push_back(encode_small(type, half));
      nearly.push_back(half_ulp.back() ^ (code % 3 == 0 ? 1 : 0));
      ratio.push_back(encode_small(type, code % 2 != 0 ? 0.5f : 1.5f));
    }
    check(type, RedOp::kSum, {codes, half_ulp});
    check(type, RedOp::kSum, {half_ulp, codes, nearly});
    check(type, RedOp::kSum, {codes, nearly});
    check(type, RedOp::kProd, {codes, ratio});
    check(type, RedOp::kProd, {codes, ratio, half_ulp});
  }
}

// Floats of every exponent and many mantissas, as sums of small values of unlike magnitude, meet each
// encoder.
TEST(ReduceValues, RandomTriples) {
  std::mt19937 random(7);
  for (DType type : kSmallTypes) {
    Columns triples(3);
    for (int i = 0; i < 40000; i++) {
      for (auto& column : triples) column.push_back(random() & ((1u << (8 * dtype_size(type))) - 1));
    }
    check_all_ops(type, triples);
  }
}

// Kernels may take a short cut for stretches without NaN, infinities and the like: columns of finite values, and
// the same with a special one in a few places.
TEST(ReduceValues, FiniteValuesAndAFewSpecials) {
  std::mt19937 random(11);
  for (int t = 0; t < kNumDTypes; t++) {
    const DType type = dtype_at(t);
    if (!is_float(type)) continue;
    const std::vector<uint64_t> specials = special_values(type);
    const size_t width = 8 * dtype_size(type);
    for (size_t n : {2, 3, 7, 64}) {
      Columns columns(n);
      for (auto& column : columns) {
        for (int i = 0; i < 3000; i++) {
          uint64_t v = (uint64_t{random()} << 32 | random()) >> (64 - width);
          v &= ~(uint64_t{1} << (width - 3));  // no exponent is all ones
          if (random() % 8 == 0) v &= uint64_t{1} << (width - 1);
          column.push_back(v);
        }
      }
      check_all_ops(type, columns);
      for (size_t i = 0; i < 10; i++)
        columns[random() % n][random() % 3000] = specials[random() % specials.size()];
      for (size_t r = 0; r < n; r++) columns[r][1500] = uint64_t{1} << (width - 1);  // -0 of every rank
      check_all_ops(type, columns);
    }
  }
}

// max and min of zeros of either sign keep the lowest rank's, wherever something of the losing side stands among
// them.
TEST(ReduceValues, ZerosOfEitherSign) {
  std::mt19937 random(13);
  for (int t = 0; t < kNumDTypes; t++) {
    const DType type = dtype_at(t);
    if (!is_float(type)) continue;
    const uint64_t sign = uint64_t{1} << (8 * dtype_size(type) - 1), lowest_nan = sign | (sign - 1);
    for (size_t n : {2, 3, 5, 16}) {
      Columns max(n), min(n);
      for (size_t r = 0; r < n; r++) {
        for (int i = 0; i < 1500; i++) {
          const uint64_t zero = random() % 2 != 0 ? sign : 0;
          const uint64_t loses = i / 500 == 1 ? lowest_nan : sign | 3;
          max[r].push_back(random() % 2 != 0 || r == n - 1 ? zero : loses);
          min[r].push_back(max[r].back() ^ sign);
        }
      }
      check(type, RedOp::kMax, max);
      check(type, RedOp::kMin, min);
    }
  }
}

TEST(ReduceValues, EveryHalfAgainstSpecials) {
  for (DType type : {DType::kF16, DType::kBF16}) {
    const std::vector<uint64_t> codes = all_codes(type);
    for (uint64_t special : special_values(type)) {
      const std::vector<uint64_t> partner(codes.size(), special);
      check(type, RedOp::kSum, {codes, partner});
      check(type, RedOp::kMax, {codes, partner});
      check(type, RedOp::kMin, {partner, codes});
    }
  }
}

TEST(ReduceValues, SpecialValuesInTwosAndThrees) {
  for (int t = 0; t < kNumDTypes; t++) {
    const std::vector<uint64_t> specials = special_values(dtype_at(t));
    Columns two(2), three(3);
    for (uint64_t a : specials) {
      for (uint64_t b : specials) {
        two[0].push_back(a);
        two[1].push_back(b);
        for (uint64_t c : specials) {
          three[0].push_back(a);
          three[1].push_back(b);
          three[2].push_back(c);
        }
      }
    }
    check_all_ops(dtype_at(t), two);
    check_all_ops(dtype_at(t), three);
  }
}

// The contract in literal bits, so that kernel and reference cannot agree on something else.
TEST(ReduceValues, LiteralBits) {
  constexpr DType f16 = DType::kF16, bf16 = DType::kBF16, e4m3 = DType::kE4M3, e5m2 = DType::kE5M2,
                  f32 = DType::kF32, f64 = DType::kF64;
  constexpr RedOp sum = RedOp::kSum, prod = RedOp::kProd, max = RedOp::kMax, min = RedOp::kMin;
  // One NaN per type, positive, whatever the sign and payload of those that came in, and from invalid
  // operations.
  EXPECT_EQ(reduce_one(f16, sum, {0xfe01}), 0x7e00u);
  EXPECT_EQ(reduce_one(bf16, sum, {0xffc1, 0x3f80}), 0x7fc0u);
  EXPECT_EQ(reduce_one(e4m3, sum, {0xff}), 0x7fu);
  EXPECT_EQ(reduce_one(e5m2, sum, {0xfd, 0x3c}), 0x7eu);
  EXPECT_EQ(reduce_one(f32, sum, {0x7f800000, 0xff800000}), 0x7fc00000u);
  EXPECT_EQ(reduce_one(f32, sum, {0xff800001}), 0x7fc00000u);
  EXPECT_EQ(reduce_one(f64, prod, {0x7ff0000000000000, 0x8000000000000000}), 0x7ff8000000000000u);
  EXPECT_EQ(reduce_one(f64, max, {0xfff0000000000001, 0xfff8000000000001}), 0x7ff8000000000000u);
  // min and max ignore NaN and keep the lower rank's zero.
  EXPECT_EQ(reduce_one(f32, max, {0x7fc00000, 0xc0000000}), 0xc0000000u);
  EXPECT_EQ(reduce_one(f32, min, {0xc0000000, 0x7f800001, 0x3f800000}), 0xc0000000u);
  EXPECT_EQ(reduce_one(f32, max, {0x80000000, 0}), 0x80000000u);
  EXPECT_EQ(reduce_one(f32, min, {0, 0x80000000}), 0u);
  EXPECT_EQ(reduce_one(f16, max, {0x8000, 0}), 0x8000u);
  EXPECT_EQ(reduce_one(e4m3, min, {0x7f, 0x00, 0x80}), 0x00u);
  // f16: 65504 + 8 is below the tie, + 16 is the tie and goes to even, which is Inf; denormals add exactly.
  EXPECT_EQ(reduce_one(f16, sum, {0x7bff, 0x4800}), 0x7bffu);
  EXPECT_EQ(reduce_one(f16, sum, {0x7bff, 0x4c00}), 0x7c00u);
  EXPECT_EQ(reduce_one(f16, sum, {0x03ff, 0x0001}), 0x0400u);
  EXPECT_EQ(reduce_one(f16, prod, {0x0001, 0x3800}), 0x0000u);  // half of the smallest: tie to zero
  EXPECT_EQ(reduce_one(f16, prod, {0x0003, 0x3800}), 0x0002u);
  // bf16 keeps denormals and rounds 1 + 2^-8 down, 1.0078125 + 2^-8 up.
  EXPECT_EQ(reduce_one(bf16, sum, {0x0001, 0x0001}), 0x0002u);
  EXPECT_EQ(reduce_one(bf16, sum, {0x3f80, 0x3b80}), 0x3f80u);
  EXPECT_EQ(reduce_one(bf16, sum, {0x3f81, 0x3b80}), 0x3f82u);
  EXPECT_EQ(reduce_one(bf16, sum, {0x7f7f, 0x7f7f}), 0x7f80u);
  // fp8 saturates, Inf too; e4m3 has 0x7e = 448, e5m2 0x7b = 57344.
  EXPECT_EQ(reduce_one(e4m3, sum, {0x7e, 0x7e}), 0x7eu);
  EXPECT_EQ(reduce_one(e4m3, prod, {0xfe, 0x7e}), 0xfeu);
  EXPECT_EQ(reduce_one(e5m2, sum, {0x7c}), 0x7bu);
  EXPECT_EQ(reduce_one(e5m2, prod, {0xfc, 0x3c}), 0xfbu);
  EXPECT_EQ(reduce_one(e4m3, sum, {0x01, 0x07}), 0x08u);
  // One rounding at the end: 1 + 2^-11 + 2^-11 in f16 is 1 + 2^-10, though each sum alone would round to 1.
  EXPECT_EQ(reduce_one(f16, sum, {0x3c00, 0x1000, 0x1000}), 0x3c01u);
  // From the left: (2^24 + 1) + 1 in float loses both ones.
  EXPECT_EQ(reduce_one(f32, sum, {0x4b800000, 0x3f800000, 0x3f800000}), 0x4b800000u);
  EXPECT_EQ(reduce_one(f32, sum, {0x3f800000, 0x3f800000, 0x4b800000}), 0x4b800001u);
  // Denormal floats are not flushed.
  EXPECT_EQ(reduce_one(f32, sum, {0x00000001, 0x00000002}), 3u);
  EXPECT_EQ(reduce_one(f32, prod, {0x00800000, 0x3f000000}), 0x00400000u);
  // Integers wrap.
  EXPECT_EQ(reduce_one(DType::kI8, sum, {127, 1}), 0x80u);
  EXPECT_EQ(reduce_one(DType::kI8, prod, {0xff, 0x80}), 0x80u);
  EXPECT_EQ(reduce_one(DType::kU8, max, {0x7f, 0x80}), 0x80u);
  EXPECT_EQ(reduce_one(DType::kI8, max, {0x7f, 0x80}), 0x7fu);
  EXPECT_EQ(reduce_one(DType::kI64, prod, {0x8000000000000001, 3}), 0x8000000000000003u);
  EXPECT_EQ(reduce_one(DType::kU64, min, {0x8000000000000000, 0x7fffffffffffffff}), 0x7fffffffffffffffu);
  EXPECT_EQ(reduce_one(DType::kI64, min, {0x8000000000000000, 0x7fffffffffffffff}), 0x8000000000000000u);
}

}  // namespace
}  // namespace fanin
