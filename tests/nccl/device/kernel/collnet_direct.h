// Shared by the CollNet direct algorithms: each head of a node owns one rail, and every device exchanges with
// all heads.
#pragma once
#include <algorithm>

#include "tests/nccl/device/kernel/work.h"

namespace cpudev {

struct DirectShape {
  int64_t chunk, size;  // elements; size is the whole buffer (all-reduce) or one rank's part
  int64_t channels, channel;
  int64_t loop;     // elements covered by all channels and heads at a time
  bool registered;  // user buffers are given to the network directly
};

inline DirectShape direct_shape(const Work& w) {
  DirectShape s;
  s.chunk = w.args.collnet.chunk_count;
  s.size = static_cast<int64_t>(w.args.collnet.count);
  s.channels = static_cast<int64_t>(w.args.channel_hi) - static_cast<int64_t>(w.args.channel_lo) + 1;
  s.channel = w.channel_id - static_cast<int64_t>(w.args.channel_lo);
  s.loop = s.channels * w.channel->direct.n_heads * s.chunk;
  s.registered = w.args.net_reg_used;
  return s;
}

}  // namespace cpudev
