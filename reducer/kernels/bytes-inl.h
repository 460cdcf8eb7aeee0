// Codecs of e4m3 and e5m2, which accumulate in float: one for all codes and operators, and two that are faster and
// leave Inf and NaN to it. Compiled once per SIMD level; see levels.h.

// Per-target include guard.
#if defined(FANIN_REDUCER_KERNELS_BYTES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FANIN_REDUCER_KERNELS_BYTES_INL_H_
#undef FANIN_REDUCER_KERNELS_BYTES_INL_H_
#else
#define FANIN_REDUCER_KERNELS_BYTES_INL_H_
#endif

#include "reducer/kernels/packed-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fanin::HWY_NAMESPACE {

// Any codes. Four parts of each word, as halves have two.
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

// What the two faster codecs share: four floats for the bytes of each word. Inf and NaN go to Exact.
template <class F>
struct CommonBytes {
  using Exact = PackedBytes<F>;
  using DB = hn::Repartition<uint8_t, DU>;
  using DH = hn::Repartition<uint16_t, DU>;
  using VH = hn::Vec<DH>;
  struct Acc {
    VF a, b, c, d;
    hn::Vec<DB> special;  // the sign bits, where any code was Inf or NaN
  };
  static constexpr size_t kElement = 1;
  static constexpr int kUnits = 1;
  static constexpr bool kPrefetches = false;
  static HWY_INLINE size_t bytes() { return hn::Lanes(DU()) * 4; }
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
};
#endif

// Products of fp8 where the level converts f16 in hardware, denormals included: a code is an f16, scaled by a
// power of two for e4m3. Even and odd codes of a vector, each in two parts.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2 && !defined(HWY_DISABLE_F16C)
template <class F>
struct ConvertedBytes : CommonBytes<F> {
  using typename CommonBytes<F>::Acc, typename CommonBytes<F>::DH, typename CommonBytes<F>::VH;
  using DI = hn::Repartition<int16_t, DU>;

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
  static HWY_INLINE void store(Acc acc, uint8_t* p) {
    store_vec(DU(), hn::Or(pack(acc.a, acc.b), hn::ShiftLeft<8>(pack(acc.c, acc.d))), p);
  }
};
#endif

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

// Sums of fp8 as floats that are scaled by a power of two: code and float have the same exponent field. That
// makes denormals of denormals (additions of those cost nothing extra, but multiplications do) and rounds
// alike, since a sum of fp8 is a multiple of the smallest denormal, scaled or not. Decoding and encoding need no
// special case for denormals, and work on the upper halves of two floats at once where they can.
template <class F>
struct ScaledBytes : CommonBytes<F> {
  using typename CommonBytes<F>::Acc, typename CommonBytes<F>::DH, typename CommonBytes<F>::VH;
  static constexpr int kBelow = F::kDown - 16;  // mantissa bits of a float's upper half beyond ours

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
