// The inputs of a checked collective: a value for every rank and element, different in both, made so that the
// result says something about each rank even in 8-bit types.
//
// Integers: full-range bits (sum and product wrap and stay exact). Floats, elements of two kinds, mixed:
//   exact    every partial result in any order fits the format (small integers times a power of two for sum,
//   powers
//            of two for product): the result has one right value and a lost, doubled or swapped input shows.
//   general  full significands: the result is rounded, its bound is derived from the roundings that may
//   happen.
// Formats with few bits cannot add many such numbers, so per element only a window of ranks takes part and
// the others give the neutral value; the window moves with the element, so every rank is in many. Pure
// functions.
#pragma once
#include <cstdint>

#include "fanin/dtype.h"

namespace fanin::perf {

// Values equal ncclRedOp_t. kAvg exists at NCCL's interface only; a network sees it as sum.
enum class CheckOp : uint8_t { kSum = 0, kProd = 1, kMax = 2, kMin = 3, kAvg = 4 };
inline constexpr int kNumCheckOps = 5;
const char* check_op_name(CheckOp op);

class Values {
 public:
  Values(DType type, CheckOp op, int nranks) : type_(type), op_(op), nranks_(nranks) {}
  // The element's bits, in the low bytes.
  uint64_t bits(int rank, uint64_t element) const;
  // Whether all partial results fit the format. Always for integers and for min and max; never for a float
  // average.
  bool exact(uint64_t element) const;
  // How many ranks give a value that is not neutral, for rounding bounds.
  int participants(uint64_t element) const;

 private:
  bool takes_part(int rank, uint64_t element) const;
  uint64_t integer(int rank, uint64_t element) const;
  double real(int rank, uint64_t element) const;

  DType type_;
  CheckOp op_;
  int nranks_;
};

}  // namespace fanin::perf
