// Small floats, and the codecs of f16 and bf16, which accumulate in float (those of fp8: bytes-inl.h). Compiled
// once per SIMD level; see levels.h.
//
// A buffer is read as 32-bit words. Each word holds two halves or four bytes; part k of all lanes, shifted
// into place, becomes one vector of floats, so no lane ever crosses another and the code is the same for
// every vector length. Conversions are integer operations and float additions that round to nearest even or
// not at all. They make no denormal float except where the input has one, since those cost a microcode assist
// on many CPUs.

// Per-target include guard.
#if defined(FANIN_REDUCER_KERNELS_PACKED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FANIN_REDUCER_KERNELS_PACKED_INL_H_
#undef FANIN_REDUCER_KERNELS_PACKED_INL_H_
#else
#define FANIN_REDUCER_KERNELS_PACKED_INL_H_
#endif

#include "reducer/kernels/kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fanin::HWY_NAMESPACE {

using DF = hn::ScalableTag<float>;
using DU = hn::ScalableTag<uint32_t>;
using VF = hn::Vec<DF>;
using VU = hn::Vec<DU>;

HWY_INLINE VU bits(VF v) { return hn::BitCast(DU(), v); }
HWY_INLINE VF floats(VU v) { return hn::BitCast(DF(), v); }
HWY_INLINE VU word(uint32_t x) { return hn::Set(DU(), x); }
// a < b for words below 2^31, where a signed comparison (the only native one at most levels) is right.
HWY_INLINE auto less(VU a, VU b) {
  const hn::RebindToSigned<DU> di;
  return hn::RebindMask(DU(), hn::Lt(hn::BitCast(di, a), hn::BitCast(di, b)));
}
HWY_INLINE VU min_word(VU a, VU b) { return hn::IfThenElse(less(a, b), a, b); }

// x rounded to a multiple of 2^kBit, ties to an even multiple; what is below is left undefined.
template <int kBit>
HWY_INLINE VU rounded_at(VU x) {
  constexpr uint32_t kHalf = 1u << (kBit - 1);
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  // One operation less with masks.
  return hn::IfThenElse(hn::TestBit(x, word(2 * kHalf)), hn::Add(x, word(kHalf)),
                        hn::Add(x, word(kHalf - 1)));
#else
  return hn::Add(hn::Add(x, word(kHalf - 1)), hn::And(hn::ShiftRight<kBit>(x), word(1)));
#endif
}

// A small float of 1 sign, kExp exponent and kMan mantissa bits.
// kIeee: the largest exponent means Inf and NaN; otherwise there is no Inf and only all ones is NaN (e4m3).
// kSaturate: what is beyond the largest finite value becomes that value, Inf included, instead of Inf.
template <int kExp, int kMan, bool kIeee, bool kSaturate>
struct Small {
  static constexpr bool kSaturates = kSaturate;
  static constexpr int kBits = 1 + kExp + kMan;
  static constexpr int kDown = 23 - kMan;  // a float's mantissa bits beyond ours
  static constexpr uint32_t kBias = (1u << (kExp - 1)) - 1;
  static constexpr uint32_t kRebias = (127 - kBias) << 23;
  // As small bits: the first magnitude that is a NaN, what a NaN result becomes, the largest finite one.
  static constexpr uint32_t kFirstNan = kIeee ? (((1u << kExp) - 1) << kMan) + 1 : (1u << (kBits - 1)) - 1;
  static constexpr uint32_t kNan = kIeee ? (kFirstNan - 1) | 1u << (kMan - 1) : kFirstNan;
  static constexpr uint32_t kMaxFinite = kFirstNan - (kIeee ? 2 : 1);
  // As float bits: the smallest normal, the magnitude at which to clamp before rounding (the largest finite
  // one, or the power of two that is ours for Inf), and the float whose last place is our smallest denormal.
  static constexpr uint32_t kMinNormal = (128 - kBias) << 23;
  static constexpr uint32_t kClamp =
      kSaturate ? (kMaxFinite << kDown) + kRebias : ((kFirstNan - 1) << kDown) + kRebias;
  static constexpr uint32_t kMagic = (151 - kBias - kMan) << 23;

  // x: the small float in the uppermost kBits bits, zeros below.
  static HWY_INLINE VF decode(VU x) {
    if constexpr (kExp == 8) {
      return floats(x);  // bf16 is the upper half of a float
    } else {
      const VU sign = hn::And(x, word(0x80000000));
      const VU magnitude = hn::ShiftRight<8 - kExp>(hn::AndNot(word(0x80000000), x));
      const VU normal = hn::Add(magnitude, word(kRebias));
      // A denormal 0.m is 1.m less one, both at the smallest normal's exponent: exact, and a normal float.
      constexpr uint32_t kOne = 1u << 23;
      const VU tiny = bits(hn::Sub(floats(hn::Add(normal, word(kOne))), floats(word(kRebias + kOne))));
      const VU finite = hn::IfThenElse(less(magnitude, word(kOne)), tiny, normal);
      const VU special = kIeee ? hn::Add(normal, word(kRebias)) : word(0x7fc00000);
      constexpr uint32_t kLastFinite = ((kMaxFinite + 1) << kDown) - 1;
      return floats(hn::Or(hn::IfThenElse(less(word(kLastFinite), magnitude), special, finite), sign));
    }
  }

  // bf16 in the upper half of each word, anything below. The float's bits are a number that rounds to nearest
  // even as any integer does, a carry into the exponent and up to Inf included.
  static HWY_INLINE VU rounded(VF v) { return rounded_at<16>(bits(v)); }

  // The small float in the lowermost kBits bits.
  static HWY_INLINE VU encode(VF v) {
    if constexpr (kExp == 8) return hn::ShiftRight<16>(rounded(v));
    const VU sign = hn::And(hn::ShiftRight<32 - kBits>(bits(v)), word(1u << (kBits - 1)));
    VU magnitude = hn::AndNot(word(0x80000000), bits(v));
    const auto nan = less(word(0x7f800000), magnitude);
    magnitude = min_word(magnitude, word(kClamp));
    const VU odd = hn::And(hn::ShiftRight<kDown>(magnitude), word(1));
    const VU biased = hn::Sub(magnitude, word(kRebias - ((1u << (kDown - 1)) - 1)));
    // The addition rounds to a multiple of our smallest denormal, which leaves that multiple in the last
    // places.
    const VU tiny = hn::Sub(bits(hn::Add(floats(magnitude), floats(word(kMagic)))), word(kMagic));
    const VU small =
        hn::IfThenElse(less(magnitude, word(kMinNormal)), tiny, hn::ShiftRight<kDown>(hn::Add(biased, odd)));
    return hn::IfThenElse(nan, word(kNan), hn::Or(small, sign));
  }
};
using F16 = Small<5, 10, true, false>;
using BF16 = Small<8, 7, true, false>;
using E4M3 = Small<4, 3, false, true>;
using E5M2 = Small<5, 2, true, true>;

// Part kPart of each word as floats, and back into its place.
template <class F, int kPart>
HWY_INLINE VF take(VU w) {
  constexpr int kUp = 32 - (kPart + 1) * F::kBits;
  if constexpr (kPart > 0) w = hn::And(w, word(((1u << F::kBits) - 1) << (kPart * F::kBits)));
  return F::decode(hn::ShiftLeft<kUp>(w));
}
template <class F, int kPart>
HWY_INLINE VU put(VF v) {
  return hn::ShiftLeft<kPart * F::kBits>(F::encode(v));
}

// Both bf16 of each word with NaN replaced by the canonical one. A NaN's payload came from a bf16 or is the
// CPU's own, so that rounding left it a NaN.
HWY_INLINE VU canonical(VU w) {
#if HWY_TARGET == HWY_SCALAR
  const VU high =
      hn::IfThenElse(less(word(0x7f80ffff), hn::And(w, word(0x7fffffff))), word(BF16::kNan << 16), w);
  const VU low = hn::And(w, word(0xffff));
  const VU nan = hn::IfThenElse(less(word(0x7f80), hn::And(w, word(0x7fff))), word(BF16::kNan), low);
  return hn::Or(hn::And(high, word(0xffff0000)), nan);
#else
  const hn::Repartition<int16_t, DU> d;
  const auto both = hn::BitCast(d, w);
  const auto nan = hn::Gt(hn::And(both, hn::Set(d, 0x7fff)), hn::Set(d, 0x7f80));
  return hn::BitCast(DU(), hn::IfThenElse(nan, hn::Set(d, BF16::kNan), both));
#endif
}

template <class F>
struct PackedHalves {
  struct Acc {
    VF a, b;
  };
  static constexpr size_t kElement = 2;
  static constexpr int kUnits = F::kDown == 16 && HWY_MAX_BYTES > 16 ? 4 : 2;
  static constexpr bool kPrefetches = false;
  static HWY_INLINE size_t bytes() { return hn::Lanes(DU()) * 4; }
  static HWY_INLINE Acc zero() { return {hn::Zero(DF()), hn::Zero(DF())}; }
  static HWY_INLINE Acc load(const uint8_t* p) {
    const VU w = load_once(DU(), p);
    return {take<F, 0>(w), take<F, 1>(w)};
  }
  template <class Op>
  static HWY_INLINE Acc fold(Acc acc, Acc x) {
    return {Op::apply(acc.a, x.a), Op::apply(acc.b, x.b)};
  }
  static HWY_INLINE void store(Acc acc, uint8_t* p) {
    if constexpr (F::kDown == 16) {
      store_vec(
          DU(),
          canonical(hn::OrAnd(hn::ShiftRight<16>(F::rounded(acc.a)), F::rounded(acc.b), word(0xffff0000))),
          p);
    } else {
      store_vec(DU(), hn::Or(put<F, 0>(acc.a), put<F, 1>(acc.b)), p);
    }
  }
};

// f16 where the level converts it in hardware, to the same bits: every f16 is a float, and the other way
// rounds once to nearest even. A NaN's payload would pass, so it is made canonical first.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2 && !defined(HWY_DISABLE_F16C)
template <size_t kFloats>
struct ConvertedHalves {
  using D = hn::CappedTag<float, kFloats>;
  using DH = hn::Rebind<hwy::float16_t, D>;
  using Acc = hn::Vec<D>;
  static constexpr size_t kElement = 2;
  static constexpr int kUnits = 64 / kFloats;
  static constexpr bool kPrefetches = true;
  static HWY_INLINE size_t bytes() { return hn::Lanes(DH()) * 2; }
  static HWY_INLINE Acc zero() { return hn::Zero(D()); }
  static HWY_INLINE Acc load(const uint8_t* p) {
    return hn::PromoteTo(D(), hn::LoadU(DH(), reinterpret_cast<const hwy::float16_t*>(p)));
  }
  template <class Op>
  static HWY_INLINE Acc fold(Acc acc, Acc x) {
    return Op::apply(acc, x);
  }
  static HWY_INLINE void store(Acc acc, uint8_t* p) {
    const Acc nan = hn::BitCast(D(), hn::Set(hn::RebindToUnsigned<D>(), 0x7fc00000));
    acc = hn::IfThenElse(hn::Eq(acc, acc), acc, nan);
    hn::StoreU(hn::DemoteTo(DH(), acc), DH(), reinterpret_cast<hwy::float16_t*>(p));
  }
};
// Eight at a time are converted from memory by one operation, sixteen by two; but there is one more port for the
// additions of eight than for those of sixteen, and none for multiplications.
using SumHalves = ConvertedHalves<8>;
using ProdHalves = ConvertedHalves<HWY_MAX_BYTES / 4>;
#else
using SumHalves = PackedHalves<F16>;
using ProdHalves = SumHalves;
#endif

}  // namespace fanin::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
