// Element types, reduction operators and collective kinds as they travel on the wire.
//
// Values equal NCCL's ncclDataType_t and ncclRedOp_t (nccl.h, 2.24 and later), so the plugin passes them
// through after a range check. Average and pre-multiplied sum never reach a network: NCCL sends them as sum.
#pragma once
#include <cstddef>
#include <cstdint>

namespace fanin {

enum class DType : uint8_t {
  kI8 = 0,
  kU8 = 1,
  kI32 = 2,
  kU32 = 3,
  kI64 = 4,
  kU64 = 5,
  kF16 = 6,
  kF32 = 7,
  kF64 = 8,
  kBF16 = 9,
  kE4M3 = 10,
  kE5M2 = 11,
};
inline constexpr int kNumDTypes = 12;

enum class RedOp : uint8_t { kSum = 0, kProd = 1, kMax = 2, kMin = 3 };
inline constexpr int kNumRedOps = 4;

enum class Coll : uint8_t { kAllReduce = 0, kAllGather = 1, kReduceScatter = 2 };
inline constexpr int kNumColls = 3;

// Bytes per element; 0 for a value outside the table.
constexpr size_t dtype_size(DType t) {
  constexpr uint8_t sizes[kNumDTypes] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return static_cast<unsigned>(t) < kNumDTypes ? sizes[static_cast<unsigned>(t)] : 0;
}
constexpr const char* dtype_name(DType t) {
  constexpr const char* names[kNumDTypes] = {"int8", "uint8", "int32",  "uint32",   "int64",  "uint64",
                                             "half", "float", "double", "bfloat16", "f8e4m3", "f8e5m2"};
  return static_cast<unsigned>(t) < kNumDTypes ? names[static_cast<unsigned>(t)] : "?";
}
constexpr const char* redop_name(RedOp op) {
  constexpr const char* names[kNumRedOps] = {"sum", "prod", "max", "min"};
  return static_cast<unsigned>(op) < kNumRedOps ? names[static_cast<unsigned>(op)] : "?";
}
constexpr const char* coll_name(Coll c) {
  constexpr const char* names[kNumColls] = {"all-reduce", "all-gather", "reduce-scatter"};
  return static_cast<unsigned>(c) < kNumColls ? names[static_cast<unsigned>(c)] : "?";
}

}  // namespace fanin
