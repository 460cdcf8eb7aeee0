// max and min of f16, bf16 and fp8 without converting them: floats are signs and magnitudes, so among values
// without a sign the order of floats is that of signed integers, and among those with a sign that of unsigned
// ones reversed. Two integer extremes per input tell the result but for NaN and which zero came first.
// Compiled once per SIMD level; see levels.h.

// Per-target include guard.
#if defined(FANIN_REDUCER_KERNELS_EXTREMES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FANIN_REDUCER_KERNELS_EXTREMES_INL_H_
#undef FANIN_REDUCER_KERNELS_EXTREMES_INL_H_
#else
#define FANIN_REDUCER_KERNELS_EXTREMES_INL_H_
#endif

#include "reducer/kernels/kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fanin::HWY_NAMESPACE {

// Codec of elements of the width of T (signed), of which magnitudes up to kLast are results as they are; for
// reduce_common with reduce_unusual.
template <class T, uint32_t kLast, bool kMax, class ExactCodec>
struct Extremes {
  using Exact = ExactCodec;
  using DS = hn::ScalableTag<T>;
  using DV = hn::RebindToUnsigned<DS>;
  using VS = hn::Vec<DS>;
  using VV = hn::Vec<DV>;
  using U = hn::TFromD<DV>;
  static constexpr U kSign = static_cast<U>(U{1} << (8 * sizeof(T) - 1));
  struct Acc {
    VS as_signed;    // the extreme in the order of signed integers, max or min
    VV as_unsigned;  // the other extreme in the order of unsigned integers
  };
  static constexpr size_t kElement = sizeof(T);
  static constexpr int kUnits = 4;
  static HWY_INLINE size_t bytes() { return hn::Lanes(DS()) * sizeof(T); }

  static HWY_INLINE VV element(uint32_t x) { return hn::Set(DV(), static_cast<U>(x)); }
  static HWY_INLINE VV magnitude(VV v) { return hn::And(v, element(kSign - 1u)); }

  static HWY_INLINE Acc load(const uint8_t* p) {
    const VS v = load_once(DS(), p);
    return {v, hn::BitCast(DV(), v)};
  }
  template <class Op>
  static HWY_INLINE Acc first(Acc x) {
    return x;
  }
  template <class Op>
  static HWY_INLINE Acc fold(Acc acc, Acc x) {
    if constexpr (kMax) {
      return {hn::Max(acc.as_signed, x.as_signed), hn::Min(acc.as_unsigned, x.as_unsigned)};
    } else {
      return {hn::Min(acc.as_signed, x.as_signed), hn::Max(acc.as_unsigned, x.as_unsigned)};
    }
  }
  // max is negative only where all inputs are: then the smallest magnitude. min is positive only where all
  // are: then as_unsigned, the largest, is, too.
  static HWY_INLINE VV result(Acc acc) {
    const VS as_unsigned = hn::BitCast(DS(), acc.as_unsigned);
    const auto negative = hn::Lt(kMax ? acc.as_signed : as_unsigned, hn::Zero(DS()));
    return hn::BitCast(DV(), hn::IfThenElse(negative, as_unsigned, acc.as_signed));
  }
  // A NaN, or an Inf of a type that saturates, that won; a NaN that lost is ignored as it should.
  static HWY_INLINE bool has_special(VV result) {
    return !hn::AllTrue(DV(), hn::Eq(hn::Max(magnitude(result), element(kLast)), element(kLast)));
  }
  template <class Op>
  static HWY_INLINE bool is_common(Acc acc) {
    // One less, as unsigned, and zero is not ordinary either.
    const VV less = hn::Sub(magnitude(result(acc)), element(1));
    return hn::AllTrue(DV(), hn::Eq(hn::Max(less, element(kLast - 1)), element(kLast - 1)));
  }
  static HWY_INLINE void store(Acc acc, uint8_t* p) { store_vec(DV(), result(acc), p); }

  // A result where the extremes found the zero that wins in the order of integers: the lowest rank's instead.
  static HWY_INLINE VV first_zero(VV result, const uint8_t* const* in, size_t n, size_t at) {
    const auto zero = hn::Eq(magnitude(result), element(0));
    VV first = result;
    for (size_t r = n; r-- > 0;) {
      const VV x = load_vec(DV(), in[r] + at);
      first = hn::IfThenElse(hn::Eq(magnitude(x), element(0)), x, first);
    }
    return hn::IfThenElse(zero, first, result);
  }
};

// Whole units [at, end) with zeros, NaN or infinities among the results.
template <class Codec, class Op>
HWY_NOINLINE void reduce_unusual(uint8_t* out, const uint8_t* const* in, size_t n, size_t at, size_t end) {
  for (; at < end; at += Codec::bytes()) {
    auto acc = Codec::load(in[0] + at);
    for (size_t r = 1; r < n; r++) acc = Codec::template fold<Op>(acc, Codec::load(in[r] + at));
    const auto result = Codec::result(acc);
    if (HWY_UNLIKELY(Codec::has_special(result))) {
      reduce_range<typename Codec::Exact, Op>(out, in, n, at, at + Codec::bytes());
    } else {
      store_vec(typename Codec::DV(), Codec::first_zero(result, in, n, at), out + at);
    }
  }
}

template <class Codec, class Op>
ReduceFn extreme_kernel() {
  return &reduce_common<Codec, Op, &reduce_unusual<Codec, Op>>;
}

// T: the signed integer of F's width.
template <class F, class T, class ExactCodec>
ReduceFn pick_extreme(bool max) {
  constexpr uint32_t kLast = F::kSaturates ? F::kMaxFinite : F::kFirstNan - 1;
  return max ? extreme_kernel<Extremes<T, kLast, true, ExactCodec>, FloatMax>()
             : extreme_kernel<Extremes<T, kLast, false, ExactCodec>, FloatMin>();
}

}  // namespace fanin::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
