// NCCL's cutting of collectives into calls, against what the real NCCL 2.28.9 was seen to do (2 channels, 2
// nodes).
#include <gtest/gtest.h>

#include "perf/fanin_perf/chunking.h"

namespace fanin::perf {
namespace {

constexpr size_t K = 1024, M = 1024 * K;

TEST(Chunking, AsSeenWithTheRealLibrary) {
  struct Seen {
    size_t bytes, calls, call_bytes;
  } const seen[] = {{4, 1, 32 * K},       {32 * K, 1, 32 * K},   {64 * K, 2, 32 * K},
                    {128 * K, 4, 32 * K}, {256 * K, 8, 32 * K},  {1 * M, 8, 128 * K},
                    {4 * M, 16, 256 * K}, {16 * M, 64, 256 * K}, {64 * M, 64, 1024 * K}};
  for (const Seen& s : seen) {
    Chunking c = nccl_chunking(s.bytes, 2);
    EXPECT_EQ(c.steps * c.groups(), s.calls) << s.bytes;
    EXPECT_EQ(c.step_bytes(), s.call_bytes) << s.bytes;
  }
}

TEST(Chunking, CoversEveryByteWithWholeChunksInRange) {
  for (size_t channels : {1, 2, 7, 8, 9, 16, 24, 64})
    for (size_t bytes : {1ul, 31ul, 32 * K, 32 * K + 1, 777 * K, 5 * M + 3, 64 * M, 300 * M}) {
      Chunking c = nccl_chunking(bytes, channels);
      EXPECT_GE(c.padded_bytes(), bytes);
      EXPECT_LT(c.padded_bytes() - bytes, c.step_bytes()) << "a step too many";
      EXPECT_GE(c.chunk_bytes, 32 * K);
      EXPECT_LE(c.chunk_bytes, 512 * K);
      EXPECT_LE(c.channels, channels);
      size_t in_groups = 0;
      for (size_t g = 0; g < c.groups(); g++) {
        EXPECT_GE(c.group_channels(g), 1u);
        EXPECT_LE(c.group_channels(g), kGroupChannels);
        in_groups += c.group_channels(g);
      }
      EXPECT_EQ(in_groups, c.channels);
    }
}

}  // namespace
}  // namespace fanin::perf
