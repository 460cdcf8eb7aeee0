// The loop all kernels share, and the operators. Compiled once per SIMD level; see levels.h.
//
// reduce_all<Codec, Op> walks the buffers tile by tile: a tile's accumulators stay in registers while the
// ranks are visited in order, so that every input is read once and the output written once. A Codec says how
// one unit (codec::bytes() bytes of a buffer) becomes an accumulator and back:
//     using Acc; static size_t bytes();
//     kElement, kUnits, kPrefetches                   // bytes of an element, units of a tile, tiles ahead of use
//     static Acc zero();
//     static Acc load(const uint8_t*);                // any alignment
//     template <class Op> static Acc fold(Acc, Acc);  // lower ranks left, next rank right
//     static void store(Acc, uint8_t*);               // rounds, makes NaN canonical
// An element's result depends on its own column of inputs alone, lane by lane. The tail goes through the same
// code in a zero-padded copy, so where a buffer is cut cannot change a bit.

// Per-target include guard.
#if defined(FANIN_REDUCER_KERNELS_KERNEL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FANIN_REDUCER_KERNELS_KERNEL_INL_H_
#undef FANIN_REDUCER_KERNELS_KERNEL_INL_H_
#else
#define FANIN_REDUCER_KERNELS_KERNEL_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace fanin::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// One full vector from or to any address.
template <class D>
HWY_INLINE hn::Vec<D> load_vec(D d, const uint8_t* p) {
  using T = hn::TFromD<D>;
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  HWY_ALIGN T lanes[HWY_MAX_BYTES / sizeof(T)];
  memcpy(lanes, p, hn::Lanes(d) * sizeof(T));
  return hn::Load(d, lanes);
#else
  return hn::LoadU(d, reinterpret_cast<const T*>(p));
#endif
}
// The same, for what is used more than once: kept from being loaded anew for each use, which is free from L1 but
// not from L2.
template <class D>
HWY_INLINE hn::Vec<D> load_once(D d, const uint8_t* p) {
  auto v = load_vec(d, p);
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSSE3 && (HWY_COMPILER_GCC || HWY_COMPILER_CLANG)
  __asm__("" : "+v"(v.raw));
#endif
  return v;
}
template <class D>
HWY_INLINE void store_vec(D d, hn::Vec<D> v, uint8_t* p) {
  using T = hn::TFromD<D>;
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  HWY_ALIGN T lanes[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(v, d, lanes);
  memcpy(p, lanes, hn::Lanes(d) * sizeof(T));
#else
  hn::StoreU(v, d, reinterpret_cast<T*>(p));
#endif
}

// Operators on vectors; acc holds the lower ranks.
struct Sum {
  using Exact = Sum;
  template <class V>
  static HWY_INLINE V apply(V acc, V x) {
    return hn::Add(acc, x);
  }
};
struct Prod {
  using Exact = Prod;
  template <class V>
  static HWY_INLINE V apply(V acc, V x) {
    return hn::Mul(acc, x);
  }
};
// For integers: Highway's Max and Min of floats differ between levels for NaN and zeros.
struct IntMax {
  template <class V>
  static HWY_INLINE V apply(V acc, V x) {
    return hn::Max(acc, x);
  }
};
struct IntMin {
  template <class V>
  static HWY_INLINE V apply(V acc, V x) {
    return hn::Min(acc, x);
  }
};
// For floats: x replaces acc where it is greater, or where acc is a NaN. A NaN x is never greater, nor is one
// zero greater than the other.
struct FloatMax {
  using Exact = FloatMax;
  template <class V>
  static HWY_INLINE V apply(V acc, V x) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSSE3
    return hn::IfThenElse(hn::Eq(acc, acc), hn::Max(x, acc), x);  // MAXPS is x > acc ? x : acc
#else
    return hn::IfThenElse(hn::Eq(acc, acc), hn::IfThenElse(hn::Gt(x, acc), x, acc), x);
#endif
  }
};
struct FloatMin {
  using Exact = FloatMin;
  template <class V>
  static HWY_INLINE V apply(V acc, V x) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSSE3
    return hn::IfThenElse(hn::Eq(acc, acc), hn::Min(x, acc), x);  // MINPS is x < acc ? x : acc
#else
    return hn::IfThenElse(hn::Eq(acc, acc), hn::IfThenElse(hn::Lt(x, acc), x, acc), x);
#endif
  }
};

// FloatMax and FloatMin in one instruction on x86, for accumulators that are no NaN: a NaN of the first rank
// becomes the infinity that any other operand replaces. Where that is the result, it says that the exact
// operator must decide.
template <bool kMax>
struct CommonExtreme {
  using Exact = std::conditional_t<kMax, FloatMax, FloatMin>;
  template <class V>
  static HWY_INLINE V infinity() {
    using T = hn::TFromV<V>;
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    return hn::Set(hn::DFromV<V>(), kMax ? -kInfinity : kInfinity);
  }
  template <class V>
  static HWY_INLINE V first(V x) {
    return hn::IfThenElse(hn::Eq(x, x), x, infinity<V>());
  }
  template <class V>
  static HWY_INLINE V apply(V acc, V x) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSSE3
    return kMax ? hn::Max(x, acc) : hn::Min(x, acc);
#else
    return hn::IfThenElse(kMax ? hn::Gt(x, acc) : hn::Lt(x, acc), x, acc);
#endif
  }
  template <class V>
  static HWY_INLINE bool is_common(V acc) {
    return hn::AllFalse(hn::DFromV<V>(), hn::Eq(acc, infinity<V>()));
  }
};

// Accumulators of kUnits units side by side.
template <class Codec, int kUnits>
struct Tile {
  typename Codec::Acc first;
  Tile<Codec, kUnits - 1> rest;

  static HWY_INLINE Tile load(const uint8_t* p) {
    return {Codec::load(p), Tile<Codec, kUnits - 1>::load(p + Codec::bytes())};
  }
  template <class Op>
  static HWY_INLINE Tile load_first(const uint8_t* p) {
    return {Codec::template first<Op>(Codec::load(p)),
            Tile<Codec, kUnits - 1>::template load_first<Op>(p + Codec::bytes())};
  }
  template <class Op>
  HWY_INLINE bool is_common() const {
    return Codec::template is_common<Op>(first) && rest.template is_common<Op>();
  }
  template <class Op>
  HWY_INLINE void fold(const uint8_t* p) {
    first = Codec::template fold<Op>(first, Codec::load(p));
    rest.template fold<Op>(p + Codec::bytes());
  }
  HWY_INLINE void store(uint8_t* p) const {
    Codec::store(first, p);
    rest.store(p + Codec::bytes());
  }
};
template <class Codec>
struct Tile<Codec, 0> {
  static HWY_INLINE Tile load(const uint8_t*) { return {}; }
  template <class Op>
  static HWY_INLINE Tile load_first(const uint8_t*) {
    return {};
  }
  template <class Op>
  HWY_INLINE bool is_common() const {
    return true;
  }
  template <class Op>
  HWY_INLINE void fold(const uint8_t*) {}
  HWY_INLINE void store(uint8_t*) const {}
};

// Bytes [at, bytes) of every buffer.
template <class Codec, class Op>
HWY_NOINLINE void reduce_range(uint8_t* out, const uint8_t* const* in, size_t n, size_t at, size_t bytes) {
  const size_t unit = Codec::bytes(), tile = Codec::kUnits * unit;
  if constexpr (Codec::kUnits > 1) {
    // The next tile, where all of it stays in L1 until it is read.
    [[maybe_unused]] const size_t ahead = n <= 128 ? tile : 0;
    for (; at + tile <= bytes; at += tile) {
      auto acc = Tile<Codec, Codec::kUnits>::load(in[0] + at);
      for (size_t r = 1; r < n; r++) {
        if constexpr (Codec::kPrefetches) {
          for (size_t line = 0; line < tile; line += 64) hwy::Prefetch(in[r] + at + ahead + line);
        }
        acc.template fold<Op>(in[r] + at);
      }
      acc.store(out + at);
    }
  }
  // Unit by unit, the last one in a zero-padded copy when it is not whole. One loop for both and for the
  // first rank, at the price of branches that are always predicted: a codec is long, and compiled for every
  // level and operator.
  for (; at < bytes; at += unit) {
    HWY_ALIGN uint8_t padded[HWY_MAX_BYTES] = {};
    const size_t left = HWY_MIN(unit, bytes - at);
    auto acc = Codec::zero();
    for (size_t r = 0; r < n; r++) {
      const uint8_t* p = in[r] + at;
      if (HWY_UNLIKELY(left < unit)) {
        memcpy(padded, p, left);
        p = padded;
      }
      const auto x = Codec::load(p);
      acc = r == 0 ? x : Codec::template fold<Op>(acc, x);
    }
    if (HWY_LIKELY(left == unit)) {
      Codec::store(acc, out + at);
    } else {
      Codec::store(acc, padded);
      memcpy(out + at, padded, left);
    }
  }
}

template <class Codec, class Op>
void reduce_all(void* to, const void* const* from, size_t n, size_t count) {
  reduce_range<Codec, Op>(static_cast<uint8_t*>(to), reinterpret_cast<const uint8_t* const*>(from), n, 0,
                          count * Codec::kElement);
}

// For a codec and operator that are fast and right for common values only. They tell of a tile whether it was
// common; one that was not goes to kUncommon, and the tail to Codec::Exact and Op::Exact.
//     template <class Op> static Acc first(Acc);       // prepares the first rank's
//     template <class Op> static bool is_common(Acc);  // of the result, before it is stored
template <class Codec, class Op, auto kUncommon = &reduce_range<typename Codec::Exact, typename Op::Exact>>
void reduce_common(void* to, const void* const* from, size_t n, size_t count) {
  const auto* in = reinterpret_cast<const uint8_t* const*>(from);
  auto* out = static_cast<uint8_t*>(to);
  const size_t tile = Codec::kUnits * Codec::bytes(), bytes = count * Codec::kElement;
  size_t at = 0;
  // The call is outside the inner loop, or constants could not stay in registers there.
  while (true) {
    for (; at + tile <= bytes; at += tile) {
      auto acc = Tile<Codec, Codec::kUnits>::template load_first<Op>(in[0] + at);
      for (size_t r = 1; r < n; r++) acc.template fold<Op>(in[r] + at);
      if (HWY_UNLIKELY(!acc.template is_common<Op>())) break;
      acc.store(out + at);
    }
    if (at + tile > bytes) break;
    kUncommon(out, in, n, at, at + tile);
    at += tile;
  }
  if (at < bytes) reduce_range<typename Codec::Exact, typename Op::Exact>(out, in, n, at, bytes);
}

// The kernel of a floating-point codec for an operator.
template <class Codec>
ReduceFn pick_float_op(RedOp op) {
  switch (op) {
    case RedOp::kSum:
      return &reduce_all<Codec, Sum>;
    case RedOp::kProd:
      return &reduce_all<Codec, Prod>;
    case RedOp::kMax:
      return &reduce_common<Codec, CommonExtreme<true>>;
    case RedOp::kMin:
      return &reduce_common<Codec, CommonExtreme<false>>;
  }
  return nullptr;
}

}  // namespace fanin::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
