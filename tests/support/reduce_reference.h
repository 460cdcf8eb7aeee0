// The reductions of reducer/kernels/reduce.h once more, in plain C++ and another way: small floats are
// decoded by ldexp and encoded by searching the table of all their values, in double arithmetic. Slow, and
// sharing no code or constant with the kernels, so that a mistake has to be made twice to pass.
#pragma once
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "fanin/dtype.h"

namespace fanin::test {

// out may not be one of the inputs. Any alignment.
void reduce_reference(DType type, RedOp op, void* out, const void* const* in, size_t n, size_t count);

// The value of a small float's bits, and the bits of a float rounded to a small float.
float decode_small(DType type, uint16_t bits);
uint16_t encode_small(DType type, float value);

// count elements: a third random bits, a third near in magnitude (so that sums neither overflow nor vanish),
// a third zeros, denormals, extremes, infinities and NaNs.
std::vector<uint8_t> sample(DType type, size_t count, std::mt19937& random);
// The special values alone, as elements of the type.
std::vector<uint64_t> special_values(DType type);

bool is_float(DType type);
constexpr DType dtype_at(int i) { return static_cast<DType>(i); }
constexpr RedOp redop_at(int i) { return static_cast<RedOp>(i); }

}  // namespace fanin::test
