#include "tests/nccl/device/kernel/reduction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "tests/nccl/device/kernel/small_floats.h"

namespace cpudev::test {
namespace {

template <class T>
std::vector<T> fold(int op, int type, uint64_t arg, std::vector<std::vector<T>> in, bool pre = false,
                    bool post = false) {
  std::vector<T> out(in[0].size());
  std::vector<void*> srcs;
  for (auto& v : in) srcs.push_back(v.data());
  void* dst = out.data();
  const Reduction r{op, type, arg};
  r.run(pre, post, srcs.data(), static_cast<int>(srcs.size()), &dst, 1, out.size());
  return out;
}

TEST(SmallFloats, KnownValues) {
  EXPECT_EQ(Half(1.0f).bits, 0x3c00);
  EXPECT_EQ(Half(65504.0f).bits, 0x7bff);
  EXPECT_EQ(Half(65520.0f).bits, 0x7c00) << "half overflows to infinity";
  EXPECT_EQ(Half(-0.0f).bits, 0x8000);
  EXPECT_EQ(Half(0x1p-24f).bits, 1);
  EXPECT_EQ(Half(0x1p-25f).bits, 0) << "a tie goes to even";
  EXPECT_EQ(BFloat16(1.00390625f).bits, 0x3f80) << "a tie goes to even";
  EXPECT_EQ(BFloat16(1.01171875f).bits, 0x3f82);
  EXPECT_EQ(E4M3(448.0f).bits, 0x7e);
  EXPECT_EQ(E4M3(1e6f).bits, 0x7e) << "fp8 saturates";
  EXPECT_EQ(E4M3(-HUGE_VALF).bits, 0xfe);
  EXPECT_EQ(E4M3(0x1p-9f).bits, 1);
  EXPECT_EQ(E5M2(57344.0f).bits, 0x7b);
  EXPECT_EQ(E5M2(1e9f).bits, 0x7b);
  EXPECT_EQ(E5M2(1.0f).bits, 0x3c);
  EXPECT_TRUE(std::isnan(static_cast<float>(E4M3(NAN))));
  EXPECT_TRUE(std::isnan(static_cast<float>(E5M2(NAN))));
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(NAN))));
}

template <class T, class Bits>
void round_trip(uint32_t finite) {
  for (uint32_t b = 0; b <= finite; b++)
    for (uint32_t sign : {0u, 1u << (8 * sizeof(Bits) - 1)}) {
      T x;
      x.bits = static_cast<Bits>(b | sign);
      ASSERT_EQ(T(static_cast<float>(x)).bits, x.bits);
    }
}
TEST(SmallFloats, EveryFiniteValueIsItself) {
  round_trip<Half, uint16_t>(0x7bff);
  round_trip<BFloat16, uint16_t>(0x7f7f);
  round_trip<E4M3, uint8_t>(0x7e);
  round_trip<E5M2, uint8_t>(0x7b);
}
// Between two neighbours: below the middle down, above it up.
TEST(SmallFloats, RoundsToNearest) {
  for (uint32_t b = 0; b < 0x7bff; b++) {
    const float low = Half::Format::value_of(b), high = Half::Format::value_of(b + 1),
                middle = (low + high) / 2;
    ASSERT_EQ(Half(std::nextafterf(middle, 0)).bits, b);
    ASSERT_EQ(Half(std::nextafterf(middle, HUGE_VALF)).bits, b + 1);
    ASSERT_EQ(Half(middle).bits, b + (b & 1)) << "ties to even";
  }
}

TEST(Reduction, EveryTypeAndOperatorIsThere) {
  for (int type = 0; type < kNumTypes; type++)
    for (int op : {kSum, kProd, kMinMax, kPreMulSum})
      EXPECT_TRUE(Reduction::supported(op, type)) << op << " " << type;
  for (int type = 0; type < kNumTypes; type++)
    EXPECT_EQ(Reduction::supported(kSumPostDiv, type), type <= kU64);
}

TEST(Reduction, IntegersWrap) {
  EXPECT_EQ(fold<uint8_t>(kSum, kU8, 0, {{200, 1}, {100, 2}, {1, 3}}), (std::vector<uint8_t>{45, 6}));
  EXPECT_EQ(fold<int32_t>(kProd, kI32, 0, {{INT32_MIN, -3}, {2, 5}}), (std::vector<int32_t>{0, -15}));
}

// NCCL's masks: xor by them and take the minimum. ~0: unsigned maximum; the sign bit alone: signed minimum.
TEST(Reduction, MinimumAndMaximumByMask) {
  EXPECT_EQ(fold<uint32_t>(kMinMax, kU32, 0, {{5, 0xffffffffu}, {7, 3}}), (std::vector<uint32_t>{5, 3}));
  EXPECT_EQ(fold<uint32_t>(kMinMax, kU32, ~0ull, {{5, 0xffffffffu}, {7, 3}}),
            (std::vector<uint32_t>{7, 0xffffffffu}));
  EXPECT_EQ(fold<int32_t>(kMinMax, kI32, 0x80000000ull, {{-5, 2}, {7, 3}}), (std::vector<int32_t>{-5, 2}));
  EXPECT_EQ(fold<int32_t>(kMinMax, kI32, 0x7fffffffull, {{-5, 2}, {7, 3}}), (std::vector<int32_t>{7, 3}));
  EXPECT_EQ(fold<float>(kMinMax, kF32, 0, {{-5, 2}, {7, 3}}), (std::vector<float>{-5, 2}));
  EXPECT_EQ(fold<float>(kMinMax, kF32, 1, {{-5, 2}, {7, 3}}), (std::vector<float>{7, 3}));
}

TEST(Reduction, AveragesAsNcclDoes) {
  // Integers: a sum divided at the end; bit 0 of the argument says signed.
  EXPECT_EQ(fold<int32_t>(kSumPostDiv, kI32, 3 << 1 | 1, {{-7, 9}, {-7, 9}}, false, true),
            (std::vector<int32_t>{-4, 6}));
  EXPECT_EQ(fold<uint8_t>(kSumPostDiv, kU8, 2 << 1, {{100}, {101}}, false, true),
            (std::vector<uint8_t>{100}));
  // Floats: every input scaled first.
  uint64_t half = 0;
  const float f = 0.5f;
  memcpy(&half, &f, 4);
  EXPECT_EQ(fold<float>(kPreMulSum, kF32, half, {{3}}, true), (std::vector<float>{1.5f}));
  EXPECT_EQ(fold<float>(kPreMulSum, kF32, half, {{3}, {4}}, true), (std::vector<float>{5.5f}))
      << "only one's own input";
}

TEST(Reduction, SmallFloatsFoldPairwiseInTheirType) {
  // 256 + 1 = 256 in bfloat16, twice; in float it would be 258.
  const auto b = [](float v) { return BFloat16(v).bits; };
  EXPECT_EQ(fold<uint16_t>(kSum, kBF16, 0, {{b(256)}, {b(1)}, {b(1)}}), (std::vector<uint16_t>{b(256)}));
  const auto e = [](float v) { return E4M3(v).bits; };
  EXPECT_EQ(fold<uint8_t>(kSum, kE4M3, 0, {{e(16), e(400)}, {e(1), e(400)}}),
            (std::vector<uint8_t>{e(16), e(448)}));
  EXPECT_EQ(fold<uint8_t>(kProd, kE4M3, 0, {{e(3)}, {e(-2.5f)}}), (std::vector<uint8_t>{e(-7.5f)}));
}

TEST(Reduction, InPlaceAndSeveralTargets) {
  std::vector<int32_t> a(10000, 1), b(10000, 2), c(10000);
  void *srcs[] = {a.data(), b.data()}, *dsts[] = {a.data(), c.data()};
  Reduction{kSum, kI32, 0}.run(false, false, srcs, 2, dsts, 2, a.size());
  EXPECT_EQ(a, std::vector<int32_t>(10000, 3));
  EXPECT_EQ(c, a);
}

}  // namespace
}  // namespace cpudev::test
