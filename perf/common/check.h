// Checks every element of a collective's result against a value computed here, on its own, from what each
// rank sent.
//
// Values repeat after kPeriod elements, a prime, so that no chunk of NCCL's (powers of two) can be swapped
// with another unnoticed; a start offset per run makes stale results wrong. Building costs kPeriod × nranks,
// filling and checking are a walk over tables. Immutable after construction, any thread.
//
// Bounds of rounded float results, with m participants, u the type's unit roundoff and v that of the wider
// type the arithmetic may go through (float for half and bfloat16, half for fp8):
//   sum      (((1+u)(1+v))^m - 1) · Σ|x|     m-1 additions in any order, each rounded in the type by way of
//   the wider
//                                            one; also covers adding in the wider type and rounding once
//   product  (((1+u)(1+v))^m - 1) · |Πx|
//   average  as sum with m+2 roundings of Σ|x|/n (1/n and the products by it are rounded too), plus what
//   products lose
//            below the smallest subnormal
// Integers, min, max and the exact elements of check_values.h allow no error at all.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fanin/dtype.h"
#include "perf/common/check_values.h"

namespace fanin::perf {

class Checker {
 public:
  static constexpr size_t kPeriod = 16381;

  Checker(DType type, CheckOp op, int nranks);
  // What rank contributes: elements first … first+count, into dst (host memory).
  void fill(int rank, uint64_t first, void* dst, size_t count) const;
  // How many of the reduced elements first … first+count are wrong.
  size_t count_wrong(uint64_t first, const void* got, size_t count) const;
  // The same for elements that must be bit for bit what a rank sent (all-gather, broadcast).
  size_t count_wrong_copy(int rank, uint64_t first, const void* got, size_t count) const;

  // For float types: the right value of an element and how far off a result may be.
  double expected(uint64_t element) const { return expected_[element % kPeriod]; }
  double tolerance(uint64_t element) const { return tolerance_[element % kPeriod]; }

 private:
  std::vector<uint8_t> table_of(int rank) const;
  void expect_integers();
  void expect_reals();
  template <class T>
  size_t count_wrong_reals(uint64_t first, const T* got, size_t count) const;

  DType type_;
  CheckOp op_;
  int nranks_;
  Values values_;
  std::vector<uint8_t> integers_;             // integer types: kPeriod elements, exact
  std::vector<float> decoded_;                // float types of up to 16 bits: the value of every bit pattern
  std::vector<double> expected_, tolerance_;  // float types
};

}  // namespace fanin::perf
