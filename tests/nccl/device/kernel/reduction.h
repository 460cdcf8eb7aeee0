// Element-wise reductions on host memory, by NCCL's device operator and type. Pure functions; any thread.
//
// Small floats are folded pairwise in their own type, as a GPU does.
#pragma once
#include <cstddef>
#include <cstdint>

namespace cpudev {

enum DeviceOp { kSum, kProd, kMinMax, kPreMulSum, kSumPostDiv, kNumDeviceOps };
enum DeviceType { kI8, kU8, kI32, kU32, kI64, kU64, kF16, kF32, kF64, kBF16, kE4M3, kE5M2, kNumTypes };

size_t type_size(int type);

struct Reduction {
  int op = kSum;
  int type = kU8;
  // kPreMulSum: the factor's bits. kMinMax, integers: the mask that turns min into what is wanted; floats:
  // bit 0 clear is min. kSumPostDiv: divisor in bits 1 … 31, bit 0 set for signed.
  uint64_t arg = 0;

  // Each dst[0 … n) = post(fold(pre(src[0]), src[1], …)); pre and post as the operator asks. A dst may equal
  // src[0].
  void run(bool pre, bool post, void* const* srcs, int n_srcs, void* const* dsts, int n_dsts, size_t n) const;
  static bool supported(int op, int type);
};

}  // namespace cpudev
