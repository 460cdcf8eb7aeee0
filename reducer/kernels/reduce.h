// Element-wise reduction of n inputs in rank order, in one pass.
//
// out[i] = in[0][i] op in[1][i] op … op in[n-1][i], evaluated from the left for every i in [0, count).
// f16, bf16, e4m3 and e5m2 accumulate in float and round once at the end (to nearest even; fp8 saturates to
// the largest finite value as CUDA's satfinite conversions do); f64 in double; integers wrap. min and max of
// floating types ignore NaN operands, quiet or signalling; of two zeros the lower rank's is kept. A NaN
// result is always the type's one canonical NaN, positive and quiet: f16 7e00, bf16 7fc0, f32 7fc00000, f64
// 7ff8000000000000, e4m3 7f, e5m2 7e. So the bits depend on nothing but the inputs and their order: not on
// the CPU, the SIMD level, alignment, count or how a buffer was cut into pieces.
//
// out may be equal to any of the inputs but not partially overlap one. Pointers need only byte alignment.
// n >= 1 (n == 1 copies, and canonicalises NaN and fp8 as a rounding would). No allocation, no locks; any
// thread, in the default floating-point environment (round to nearest, denormals not flushed).
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "fanin/dtype.h"

namespace fanin {

using ReduceFn = void (*)(void* out, const void* const* in, size_t n, size_t count);

// The fastest function for this CPU. Never null for values in the tables of dtype.h.
ReduceFn reduce_fn(DType type, RedOp op);

// Every SIMD level compiled in that this CPU can run, best first, for tests and benchmarks.
struct ReduceLevel {
  std::string name;  // "AVX3", "SSE2", "EMU128"
  ReduceFn (*fn)(DType type, RedOp op);
};
std::vector<ReduceLevel> reduce_levels();

}  // namespace fanin
