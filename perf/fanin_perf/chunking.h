// How NCCL's CollNetDirect cuts one collective into calls of the plugin (NCCL 2.28, one GPU a node).
//
// Channels of a group are joined in one call of channels × chunk bytes per step. Pure functions.
#pragma once
#include <cstddef>

namespace fanin::perf {

inline constexpr size_t kGroupChannels = 8;  // channels joined in one call
inline constexpr size_t kStepsInFlight = 8;  // per group

struct Chunking {
  size_t channels;
  size_t chunk_bytes;  // per channel and step
  size_t steps;
  size_t groups() const { return (channels + kGroupChannels - 1) / kGroupChannels; }
  size_t group_channels(size_t group) const {
    size_t left = channels - group * kGroupChannels;
    return left < kGroupChannels ? left : kGroupChannels;
  }
  size_t step_bytes() const { return channels * chunk_bytes; }
  // All-reduce sends whole chunks: what this many steps touch, at least the collective's own bytes.
  size_t padded_bytes() const { return steps * step_bytes(); }
};

// bytes: of the buffer (all-reduce) or of the concatenation of all ranks' shares; at least 1. channels: at
// most.
Chunking nccl_chunking(size_t bytes, size_t channels);

}  // namespace fanin::perf
