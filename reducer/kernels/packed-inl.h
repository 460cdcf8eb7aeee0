// Codecs of the types that accumulate in float: f16, bf16, e4m3, e5m2. Compiled once per SIMD level; see
// levels.h.
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

template <class F>
struct PackedBytes {
  struct Acc {
    VF a, b, c, d;
  };
  static constexpr size_t kElement = 1;
  static constexpr int kUnits = 1;
  static constexpr bool kPrefetches = false;
  static HWY_INLINE size_t bytes() { return hn::Lanes(DU()) * 4; }
  static HWY_INLINE Acc zero() { return {hn::Zero(DF()), hn::Zero(DF()), hn::Zero(DF()), hn::Zero(DF())}; }
  static HWY_INLINE Acc load(const uint8_t* p) {
    const VU w = load_once(DU(), p);
    return {take<F, 0>(w), take<F, 1>(w), take<F, 2>(w), take<F, 3>(w)};
  }
  template <class Op>
  static HWY_INLINE Acc fold(Acc acc, Acc x) {
    return {Op::apply(acc.a, x.a), Op::apply(acc.b, x.b), Op::apply(acc.c, x.c), Op::apply(acc.d, x.d)};
  }
  static HWY_INLINE void store(Acc acc, uint8_t* p) {
    store_vec(DU(),
              hn::Or(hn::Or(put<F, 0>(acc.a), put<F, 1>(acc.b)), hn::Or(put<F, 2>(acc.c), put<F, 3>(acc.d))),
              p);
  }
};

// Has a sign bit where a byte of w is Inf or NaN.
#if HWY_TARGET != HWY_SCALAR
template <class F>
HWY_INLINE hn::Vec<hn::Repartition<uint8_t, DU>> special_bytes(VU w) {
  const hn::Repartition<uint8_t, DU> d;
  const auto codes = hn::BitCast(d, w);
  return hn::Xor(codes, hn::Add(codes, hn::Set(d, static_cast<uint8_t>(0x7f - F::kMaxFinite))));
}
#endif

// Products of fp8 where the level converts f16 in hardware, denormals included: a code is an f16, scaled by a
// power of two for e4m3. Inf and NaN go to Exact. Even and odd codes of a vector, each in two parts.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2 && !defined(HWY_DISABLE_F16C)
template <class F>
struct ConvertedBytes {
  using Exact = PackedBytes<F>;
  using DB = hn::Repartition<uint8_t, DU>;
  using DH = hn::Repartition<uint16_t, DU>;
  using DI = hn::Repartition<int16_t, DU>;
  using VH = hn::Vec<DH>;
  struct Acc {
    VF a, b, c, d;
    hn::Vec<DB> special;
  };
  static constexpr size_t kElement = 1;
  static constexpr int kUnits = 1;
  static HWY_INLINE size_t bytes() { return hn::Lanes(DU()) * 4; }

  // The f16 of codes in the upper bytes.
  static HWY_INLINE VH take(VH codes) {
    constexpr int kDown = F::kBias == 15 ? 0 : 1;  // f16 has one more bit of exponent than e4m3
    const VH shifted = hn::BitCast(DH(), hn::ShiftRight<kDown>(hn::BitCast(DI(), codes)));
    return hn::And(shifted, hn::Set(DH(), 0x8000 | (0x7f << (8 - kDown))));
  }
  template <class V>
  static HWY_INLINE VF convert(V half) {
    const VF v = hn::PromoteTo(DF(), hn::BitCast(hn::Rebind<hwy::float16_t, DF>(), half));
    return F::kBias == 15 ? v : hn::Mul(v, hn::Set(DF(), 1u << (15 - F::kBias)));
  }
  static HWY_INLINE VU pack(VF low, VF high) {
    const hn::Rebind<uint16_t, DF> d;
    const hn::RebindToSigned<DU> di;
    return hn::BitCast(DU(), hn::Combine(DH(), hn::DemoteTo(d, hn::BitCast(di, F::encode(high))),
                                         hn::DemoteTo(d, hn::BitCast(di, F::encode(low)))));
  }

  static HWY_INLINE Acc load(const uint8_t* p) {
    const VU w = load_once(DU(), p);
    const VH even = take(hn::ShiftLeft<8>(hn::BitCast(DH(), w))), odd = take(hn::BitCast(DH(), w));
    return {convert(hn::LowerHalf(even)), convert(hn::UpperHalf(hn::Half<DH>(), even)),
            convert(hn::LowerHalf(odd)), convert(hn::UpperHalf(hn::Half<DH>(), odd)), special_bytes<F>(w)};
  }
  template <class Op>
  static HWY_INLINE Acc fold(Acc acc, Acc x) {
    return {Op::apply(acc.a, x.a), Op::apply(acc.b, x.b), Op::apply(acc.c, x.c), Op::apply(acc.d, x.d),
            hn::Or(acc.special, x.special)};
  }
  template <class Op>
  static HWY_INLINE Acc first(Acc x) {
    return x;
  }
  template <class Op>
  static HWY_INLINE bool is_common(Acc acc) {
    return hn::AllTrue(DB(), hn::Lt(acc.special, hn::Set(DB(), 0x80)));
  }
  static HWY_INLINE void store(Acc acc, uint8_t* p) {
    store_vec(DU(), hn::Or(pack(acc.a, acc.b), hn::ShiftLeft<8>(pack(acc.c, acc.d))), p);
  }
};
#endif

// Sums of fp8 as floats that are scaled by a power of two: code and float have the same exponent field. That
// makes denormals of denormals (additions of those cost nothing extra, but multiplications do) and rounds
// alike, since a sum of fp8 is a multiple of the smallest denormal, scaled or not. Decoding and encoding need no
// special case for denormals, and work on the upper halves of two floats at once where they can. Infinities and
// NaN do: their units go to Exact.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSSE3
// Sums of products of unsigned and signed bytes, pair by pair.
#if HWY_TARGET <= HWY_AVX3
HWY_INLINE __m512i pairs(__m512i a, __m512i b) { return _mm512_maddubs_epi16(a, b); }
#elif HWY_TARGET <= HWY_AVX2
HWY_INLINE __m256i pairs(__m256i a, __m256i b) { return _mm256_maddubs_epi16(a, b); }
#else
HWY_INLINE __m128i pairs(__m128i a, __m128i b) { return _mm_maddubs_epi16(a, b); }
#endif
#endif

#if HWY_TARGET != HWY_SCALAR
// The even or the odd byte of each pair, sign-extended and shifted.
template <bool kOdd, int kUp>
HWY_INLINE VU signed_bytes(VU w) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSSE3
  return VU{pairs(word(0x00010001u << (kOdd ? 8 + kUp : kUp)).raw, w.raw)};
#else
  const hn::Repartition<int16_t, DU> d;
  auto v = hn::BitCast(d, w);
  if constexpr (!kOdd) v = hn::ShiftLeft<8>(v);
  return hn::BitCast(DU(), hn::ShiftRight<8 - kUp>(v));
#endif
}

template <class F>
struct ScaledBytes {
  using Exact = PackedBytes<F>;
  using DB = hn::Repartition<uint8_t, DU>;
  using DH = hn::Repartition<uint16_t, DU>;
  using DI = hn::Repartition<int16_t, DU>;
  using VH = hn::Vec<DH>;
  struct Acc {
    VF a, b, c, d;
    hn::Vec<DB> special;  // the sign bits, where any code was Inf or NaN
  };
  static constexpr size_t kElement = 1;
  static constexpr int kUnits = 1;
  static constexpr bool kPrefetches = false;
  static constexpr int kBelow = F::kDown - 16;  // mantissa bits of a float's upper half beyond ours
  static HWY_INLINE size_t bytes() { return hn::Lanes(DU()) * 4; }

  static HWY_INLINE VH half(uint32_t x) { return hn::Set(DH(), static_cast<uint16_t>(x)); }

  // The upper halves of the scaled floats of the even or the odd codes.
  template <bool kOdd>
  static HWY_INLINE VU take(VU codes) {
    const VU shifted = signed_bytes<kOdd, kBelow>(codes);
    return hn::And(shifted, hn::BitCast(DU(), half(0x8000 | (0x7f << kBelow))));
  }
  // To nearest even in bit kDown; nothing of what is below is left in its place.
  static HWY_INLINE VU rounded(VF v) { return rounded_at<F::kDown>(bits(v)); }
  // The upper halves of two vectors.
  static HWY_INLINE VH upper(VU low, VU high) {
    return hn::BitCast(DH(), hn::OrAnd(hn::ShiftRight<16>(low), high, word(0xffff0000)));
  }
  static HWY_INLINE VH magnitude(VH v) {
    constexpr uint32_t kLast = (F::kMaxFinite << kBelow) | ((1u << kBelow) - 1);
    return hn::Min(hn::And(v, half(0x7fff)), half(kLast));
  }

  static HWY_INLINE Acc load(const uint8_t* p) {
    const VU w = load_once(DU(), p);
    const VU even = take<false>(w), odd = take<true>(w);
    const VU upper = word(0xffff0000);
    return {floats(hn::ShiftLeft<16>(even)), floats(hn::ShiftLeft<16>(odd)), floats(hn::And(even, upper)),
            floats(hn::And(odd, upper)), special_bytes<F>(w)};
  }
  template <class Op>
  static HWY_INLINE Acc fold(Acc acc, Acc x) {
    return {Op::apply(acc.a, x.a), Op::apply(acc.b, x.b), Op::apply(acc.c, x.c), Op::apply(acc.d, x.d),
            hn::Or(acc.special, x.special)};
  }
  template <class Op>
  static HWY_INLINE Acc first(Acc x) {
    return x;
  }
  template <class Op>
  static HWY_INLINE bool is_common(Acc acc) {
    return hn::AllTrue(DB(), hn::Lt(acc.special, hn::Set(DB(), 0x80)));
  }
  static HWY_INLINE void store(Acc acc, uint8_t* p) {
    const VH even = upper(rounded(acc.a), rounded(acc.c)), odd = upper(rounded(acc.b), rounded(acc.d));
    const VH low = hn::ShiftRight<kBelow>(magnitude(even)), high = hn::ShiftLeft<8 - kBelow>(magnitude(odd));
    VH codes = hn::OrAnd(low, high, half(0x7f00));
    codes = hn::OrAnd(codes, odd, half(0x8000));
    codes = hn::OrAnd(codes, hn::ShiftRight<8>(even), half(0x80));
    store_vec(DH(), codes, p);
  }
};
#endif

}  // namespace fanin::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
