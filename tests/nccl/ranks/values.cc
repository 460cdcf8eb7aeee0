#include "tests/nccl/ranks/values.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <type_traits>

#include "tests/nccl/device/kernel/small_floats.h"

namespace ranks {
namespace {

using cpudev::BFloat16;
using cpudev::E4M3;
using cpudev::E5M2;
using cpudev::Half;

enum class Op { kSum, kProd, kMax, kMin, kAvg };

uint64_t mix(uint64_t rank, uint64_t element) {
  uint64_t x = element * 0x9e3779b97f4a7c15ull + (rank + 1) * 0xd1b54a32d192ed03ull;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

// Half the distance of 1 to its successor, and the smallest number above 0.
template <class T>
constexpr double kUnit = 0;
template <>
constexpr double kUnit<double> = 0x1p-53;
template <>
constexpr double kUnit<float> = 0x1p-24;
template <>
constexpr double kUnit<Half> = 0x1p-11;
template <>
constexpr double kUnit<BFloat16> = 0x1p-8;
template <>
constexpr double kUnit<E4M3> = 0x1p-4;
template <>
constexpr double kUnit<E5M2> = 0x1p-3;
template <class T>
constexpr double kTiny = 0x1p-126;
template <>
constexpr double kTiny<Half> = 0x1p-24;
template <>
constexpr double kTiny<E4M3> = 0x1p-9;
template <>
constexpr double kTiny<E5M2> = 0x1p-16;

double widen(double v) { return v; }
double widen(float v) { return static_cast<double>(v); }
template <class T>
double widen(T v) {
  return static_cast<double>(static_cast<float>(v));
}

template <class T>
class TypedValues : public Values {
 public:
  TypedValues(std::string name, ncclDataType_t type, Op op, bool round_once)
      : name_(std::move(name)), type_(type), op_(op), round_once_(round_once) {}
  std::string name() const override { return name_; }
  ncclDataType_t type() const override { return type_; }
  ncclRedOp_t op() const override {
    constexpr ncclRedOp_t ops[] = {ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg};
    return ops[static_cast<int>(op_)];
  }
  size_t size() const override { return sizeof(T); }

  void fill(void* data, size_t n, size_t first, int rank) const override {
    T* p = static_cast<T*>(data);
    for (size_t i = 0; i < n; i++) p[i] = value(rank, first + i);
  }

  size_t check(const void* data, size_t n, size_t first, const std::vector<int>& ranks,
               std::string* example) const override {
    const T* p = static_cast<const T*>(data);
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++) {
      if (right(p[i], first + i, ranks)) continue;
      if (wrong++ == 0) *example = "element " + std::to_string(i) + " is " + describe(p[i], first + i, ranks);
    }
    return wrong;
  }

 private:
  static constexpr bool kInteger = std::is_integral_v<T>;

  T value(int rank, size_t element) const {
    const uint64_t bits = mix(static_cast<uint64_t>(rank), element);
    if constexpr (kInteger) {
      return static_cast<T>(bits);
    } else {
      // Sums: -1 … 1. Products: ±0.75 … 1.25, so that they neither vanish nor overflow.
      const double unit = static_cast<double>(bits >> 12) * 0x1p-52;
      const double v = op_ == Op::kProd ? (0.75 + unit / 2) * (bits & 1 ? -1 : 1) : 2 * unit - 1;
      if constexpr (std::is_same_v<T, double>)
        return v;
      else
        return T(static_cast<float>(v));
    }
  }

  struct Bounded {
    double value, bound;
  };
  Bounded expected(size_t element, const std::vector<int>& ranks) const {
    const double n = static_cast<double>(ranks.size());
    double sum = 0, magnitude = 0, product = 1, low = HUGE_VAL, high = -HUGE_VAL;
    for (int r : ranks) {
      const double v = widen(value(r, element));
      sum += v;
      magnitude += std::fabs(v);
      product *= v;
      low = std::min(low, v);
      high = std::max(high, v);
    }
    // Folded in its own type a value is rounded n-1 times; accumulated in float it is rounded to its type
    // only at the end.
    const double step = round_once_ ? std::min(kUnit<T>, 0x1p-24) : kUnit<T>,
                 last = round_once_ ? kUnit<T> : 0;
    const double slack = 1.01, tiny = kTiny<T> * (round_once_ ? 1 : n);
    switch (op_) {
      case Op::kSum:
        return {sum, slack * (n * step * magnitude + last * std::fabs(sum)) + tiny};
      case Op::kProd:
        return {product, slack * std::fabs(product) * (std::pow(1 + step, n) * (1 + last) - 1) + tiny};
      case Op::kMax:
        return {high, 0};
      case Op::kMin:
        return {low, 0};
      // Inputs are scaled by a rounded 1/n first.
      case Op::kAvg:
        return {sum / n, (2 * n + 2) * kUnit<T> * magnitude / n + 2 * n * kTiny<T>};
    }
    return {0, 0};
  }

  bool right(T got, size_t element, const std::vector<int>& ranks) const {
    if (ranks.size() == 1) {
      const T want = value(ranks[0], element);
      return memcmp(&got, &want, sizeof(T)) == 0;
    }
    if constexpr (kInteger) {
      return got == exact(element, ranks);
    } else {
      const Bounded e = expected(element, ranks);
      return std::fabs(widen(got) - e.value) <= e.bound;  // false for NaN
    }
  }

  // Integers wrap; an average divides the wrapped sum.
  T exact(size_t element, const std::vector<int>& ranks) const {
    T a = value(ranks[0], element);
    for (size_t k = 1; k < ranks.size(); k++) {
      const T b = value(ranks[k], element);
      const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
      switch (op_) {
        case Op::kSum:
        case Op::kAvg:
          a = static_cast<T>(x + y);
          break;
        case Op::kProd:
          a = static_cast<T>(x * y);
          break;
        case Op::kMax:
          a = std::max(a, b);
          break;
        case Op::kMin:
          a = std::min(a, b);
          break;
      }
    }
    return op_ == Op::kAvg ? static_cast<T>(a / static_cast<T>(ranks.size())) : a;
  }

  std::string describe(T got, size_t element, const std::vector<int>& ranks) const {
    char text[128];
    if constexpr (kInteger) {
      const T want = ranks.size() == 1 ? value(ranks[0], element) : exact(element, ranks);
      return std::to_string(got) + ", expected " + std::to_string(want);
    } else {
      const Bounded e =
          ranks.size() == 1 ? Bounded{widen(value(ranks[0], element)), 0} : expected(element, ranks);
      snprintf(text, sizeof text, "%.9g, expected %.9g +- %.3g", widen(got), e.value, e.bound);
      return text;
    }
  }

  const std::string name_;
  const ncclDataType_t type_;
  const Op op_;
  const bool round_once_;
};

template <class T>
std::unique_ptr<Values> make(std::string name, ncclDataType_t type, Op op, bool round_once) {
  return std::make_unique<TypedValues<T>>(std::move(name), type, op, round_once);
}

}  // namespace

std::unique_ptr<Values> make_values(const std::string& type, const std::string& op, bool round_once) {
  struct Entry {
    const char* name;
    ncclDataType_t type;
    std::unique_ptr<Values> (*make)(std::string, ncclDataType_t, Op, bool);
  };
  static const Entry entries[] = {
      {"i8", ncclInt8, make<int8_t>},       {"u8", ncclUint8, make<uint8_t>},
      {"i32", ncclInt32, make<int32_t>},    {"u32", ncclUint32, make<uint32_t>},
      {"i64", ncclInt64, make<int64_t>},    {"u64", ncclUint64, make<uint64_t>},
      {"f16", ncclFloat16, make<Half>},     {"f32", ncclFloat32, make<float>},
      {"f64", ncclFloat64, make<double>},   {"bf16", ncclBfloat16, make<BFloat16>},
      {"e4m3", ncclFloat8e4m3, make<E4M3>}, {"e5m2", ncclFloat8e5m2, make<E5M2>},
  };
  static const char* const ops[] = {"sum", "prod", "max", "min", "avg"};
  int o = 0;
  while (op != ops[o]) o++;
  for (const Entry& e : entries)
    if (type == e.name) return e.make(type + " " + op, e.type, static_cast<Op>(o), round_once);
  return nullptr;
}

uint64_t hash_bytes(uint64_t hash, const void* data, size_t bytes) {
  // Eight bytes at a time: results are compared, not published.
  const char* p = static_cast<const char*>(data);
  for (size_t i = 0; i < bytes; i += 8) {
    uint64_t word = 0;
    memcpy(&word, p + i, std::min<size_t>(8, bytes - i));
    hash = (hash ^ word) * 0x100000001b3ull;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace ranks
