// Codec of the types that accumulate in themselves: integers, f32 and f64. Compiled once per SIMD level; see
// levels.h.

// Per-target include guard.
#if defined(FANIN_REDUCER_KERNELS_PLAIN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FANIN_REDUCER_KERNELS_PLAIN_INL_H_
#undef FANIN_REDUCER_KERNELS_PLAIN_INL_H_
#else
#define FANIN_REDUCER_KERNELS_PLAIN_INL_H_
#endif

#include "reducer/kernels/kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fanin::HWY_NAMESPACE {

// v with every NaN replaced by the positive quiet NaN without payload.
template <class D>
HWY_INLINE hn::Vec<D> canonical_nan(D d, hn::Vec<D> v) {
  using Bits = hwy::MakeUnsigned<hn::TFromD<D>>;
  constexpr Bits kNan = sizeof(Bits) == 4 ? Bits{0x7fc00000} : static_cast<Bits>(0x7ff8000000000000);
  return hn::IfThenElse(hn::Eq(v, v), v, hn::BitCast(d, hn::Set(hn::RebindToUnsigned<D>(), kNan)));
}

template <class T>
struct Plain {
  using D = hn::ScalableTag<T>;
  using Exact = Plain;
  using Acc = hn::Vec<D>;
  static constexpr size_t kElement = sizeof(T);
  static constexpr int kUnits = 4;  // enough additions in flight to hide their latency behind the loads
  static constexpr bool kPrefetches = false;
  static HWY_INLINE size_t bytes() { return hn::Lanes(D()) * sizeof(T); }
  static HWY_INLINE Acc zero() { return hn::Zero(D()); }
  static HWY_INLINE Acc load(const uint8_t* p) { return load_vec(D(), p); }
  template <class Op>
  static HWY_INLINE Acc fold(Acc acc, Acc x) {
    return Op::apply(acc, x);
  }
  template <class Op>
  static HWY_INLINE Acc first(Acc x) {
    return Op::first(x);
  }
  template <class Op>
  static HWY_INLINE bool is_common(Acc acc) {
    return Op::is_common(acc);
  }
  static HWY_INLINE void store(Acc acc, uint8_t* p) {
    if constexpr (hwy::IsFloat<T>()) acc = canonical_nan(D(), acc);
    store_vec(D(), acc, p);
  }
};

// Products of bytes: no level multiplies those, so the even and the odd ones are 16-bit lanes, of which only the
// low half matters until it is stored.
struct ByteProducts {
#if HWY_TARGET == HWY_SCALAR
  using D = hn::ScalableTag<uint8_t>;
  struct Acc {
    uint32_t even;
  };
  static HWY_INLINE size_t bytes() { return 1; }
  static HWY_INLINE Acc zero() { return {0}; }
  static HWY_INLINE Acc load(const uint8_t* p) { return {*p}; }
  template <class Op>
  static HWY_INLINE Acc fold(Acc acc, Acc x) {
    return {acc.even * x.even};
  }
  static HWY_INLINE void store(Acc acc, uint8_t* p) { *p = static_cast<uint8_t>(acc.even); }
#else
  using D = hn::ScalableTag<uint16_t>;
  struct Acc {
    hn::Vec<D> even, odd;
  };
  static HWY_INLINE size_t bytes() { return hn::Lanes(D()) * 2; }
  static HWY_INLINE Acc zero() { return {hn::Zero(D()), hn::Zero(D())}; }
  static HWY_INLINE Acc load(const uint8_t* p) {
    const auto v = load_vec(D(), p);
    return {v, hn::ShiftRight<8>(v)};
  }
  template <class Op>
  static HWY_INLINE Acc fold(Acc acc, Acc x) {
    return {hn::Mul(acc.even, x.even), hn::Mul(acc.odd, x.odd)};
  }
  static HWY_INLINE void store(Acc acc, uint8_t* p) {
    const auto low = hn::And(acc.even, hn::Set(D(), 0xff));
    store_vec(D(), hn::Or(low, hn::ShiftLeft<8>(acc.odd)), p);
  }
#endif
  static constexpr size_t kElement = 1;
  static constexpr int kUnits = 4;
  static constexpr bool kPrefetches = false;
};

}  // namespace fanin::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
