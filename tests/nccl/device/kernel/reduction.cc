#include "tests/nccl/device/kernel/reduction.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "tests/nccl/device/kernel/small_floats.h"

namespace cpudev {
namespace {

// The type in which an operator computes: float for the small ones.
template <class T>
using Wide = std::conditional_t<std::is_arithmetic_v<T>, T, float>;

template <class T, int Op>
struct Operator {
  T factor{};            // kPreMulSum
  T mask{};              // kMinMax on integers
  bool is_min = false;   // kMinMax on floats
  uint64_t divisor = 1;  // kSumPostDiv
  bool is_signed = false;

  explicit Operator(uint64_t arg) {
    if constexpr (Op == kPreMulSum) memcpy(static_cast<void*>(&factor), &arg, sizeof(T));
    if constexpr (Op == kMinMax) {
      if constexpr (std::is_integral_v<T>) mask = static_cast<T>(arg);
      is_min = !(arg & 1);
    }
    if constexpr (Op == kSumPostDiv) {
      is_signed = arg & 1;
      divisor = static_cast<uint32_t>(arg >> 1) & 0x7fffffff;
    }
  }
  T fold(T a, T b) const {
    if constexpr (Op == kProd) {
      return static_cast<T>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b));
    } else if constexpr (Op != kMinMax) {
      return static_cast<T>(static_cast<Wide<T>>(a) + static_cast<Wide<T>>(b));
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(std::min<T>(a ^ mask, b ^ mask) ^ mask);
    } else {
      const auto x = static_cast<Wide<T>>(a), y = static_cast<Wide<T>>(b);
      return (is_min ? x < y : x > y) ? a : b;
    }
  }
  T pre(T a) const {
    if constexpr (Op == kPreMulSum)
      return static_cast<T>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(factor));
    return a;
  }
  T post(T a) const {
    if constexpr (Op == kSumPostDiv && std::is_integral_v<T>) {
      if (is_signed)
        return static_cast<T>(static_cast<std::make_signed_t<T>>(a) / static_cast<int64_t>(divisor));
      return static_cast<T>(a / divisor);
    }
    return a;
  }
};

template <class T, int Op>
void reduce(uint64_t arg, bool pre, bool post, void* const* srcs, int n_srcs, void* const* dsts, int n_dsts,
            size_t n) {
  const Operator<T, Op> f(arg);
  pre = pre && Op == kPreMulSum;
  post = post && Op == kSumPostDiv;
  // Cache-sized pieces, so that several sources or targets stay warm.
  constexpr size_t kPiece = 16384 / sizeof(T);
  for (size_t begin = 0; begin < n; begin += kPiece) {
    const size_t m = std::min(kPiece, n - begin);
    const auto source = [&](int i) { return static_cast<const T*>(srcs[i]) + begin; };
    const T* s = source(0);
    T* d = static_cast<T*>(dsts[0]) + begin;
    int next = 1;
    if (n_srcs >= 2) {
      const T* t = source(next++);
      for (size_t i = 0; i < m; i++) d[i] = f.fold(pre ? f.pre(s[i]) : s[i], t[i]);
    } else if (pre) {
      for (size_t i = 0; i < m; i++) d[i] = f.pre(s[i]);
    } else if (d != s) {
      memcpy(static_cast<void*>(d), s, m * sizeof(T));
    }
    for (; next < n_srcs; next++) {
      const T* t = source(next);
      for (size_t i = 0; i < m; i++) d[i] = f.fold(d[i], t[i]);
    }
    if (post)
      for (size_t i = 0; i < m; i++) d[i] = f.post(d[i]);
    for (int k = 1; k < n_dsts; k++) memcpy(static_cast<T*>(dsts[k]) + begin, d, m * sizeof(T));
  }
}

using Run = void (*)(uint64_t, bool, bool, void* const*, int, void* const*, int, size_t);

template <int Op>
Run for_type(int type) {
  switch (type) {
    // Unsigned arithmetic wraps as a GPU's does; signed minimum and maximum come as a mask that flips the
    // sign bit.
    case kI8:
    case kU8:
      return reduce<uint8_t, Op>;
    case kI32:
    case kU32:
      return reduce<uint32_t, Op>;
    case kI64:
    case kU64:
      return reduce<uint64_t, Op>;
    case kF16:
      return reduce<Half, Op>;
    case kF32:
      return reduce<float, Op>;
    case kF64:
      return reduce<double, Op>;
    case kBF16:
      return reduce<BFloat16, Op>;
    case kE4M3:
      return reduce<E4M3, Op>;
    case kE5M2:
      return reduce<E5M2, Op>;
  }
  return nullptr;
}

Run choose(int op, int type) {
  switch (op) {
    case kSum:
      return for_type<kSum>(type);
    case kProd:
      return for_type<kProd>(type);
    case kMinMax:
      return for_type<kMinMax>(type);
    case kPreMulSum:
      return for_type<kPreMulSum>(type);
    case kSumPostDiv:
      return type <= kU64 ? for_type<kSumPostDiv>(type) : nullptr;
  }
  return nullptr;
}

}  // namespace

size_t type_size(int type) {
  static constexpr size_t sizes[kNumTypes] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return sizes[type];
}

bool Reduction::supported(int op, int type) { return choose(op, type) != nullptr; }

void Reduction::run(bool pre, bool post, void* const* srcs, int n_srcs, void* const* dsts, int n_dsts,
                    size_t n) const {
  if (n == 0 || n_dsts == 0 || n_srcs == 0) return;
  choose(op, type)(arg, pre, post, srcs, n_srcs, dsts, n_dsts, n);
}

}  // namespace cpudev
