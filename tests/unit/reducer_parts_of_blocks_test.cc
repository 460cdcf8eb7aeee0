// Results that leave before their block is complete: when they do, and that nothing depends on it.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>

#include "tests/support/reduce_reference.h"
#include "tests/support/reducer_fixture.h"

namespace fanin {
namespace {

using test::Bytes;
using test::Frame;
using test::RawWorker;
using test::reducer_config;
using test::start_reducer;

constexpr uint32_t kBlock = 64 << 10;

struct Ranks {
  Ranks(const Reducer& reducer, uint32_t n, uint64_t window = 1 << 20) {
    for (uint32_t r = 0; r < n; ++r) {
      w.push_back(std::make_unique<RawWorker>(reducer.address()));
      w.back()->join(RawWorker::hello(RawWorker::session(1), r, n, 0, window));
    }
  }
  RawWorker& operator[](size_t r) { return *w[r]; }
  std::vector<std::unique_ptr<RawWorker>> w;
};

// Bytes of one rank's stream: a header and its payload.
Bytes stream_of(const wire::SliceHeader& h, const std::vector<uint8_t>& payload) {
  Bytes out(sizeof h + payload.size());
  memcpy(out.data(), &h, sizeof h);
  memcpy(out.data() + sizeof h, payload.data(), payload.size());
  return out;
}

TEST(PartsOfBlocks, WhatAllRanksHaveSentComesBackAtOnce) {
  auto reducer = start_reducer(reducer_config(1, kBlock));
  Ranks ranks(*reducer, 2);
  std::vector<float> in[2];
  for (int r = 0; r < 2; ++r)
    for (uint32_t i = 0; i < kBlock / 4; ++i) in[r].push_back(test::value(static_cast<uint32_t>(r), 0, i));
  const wire::SliceHeader h = RawWorker::all_reduce(0, kBlock);
  const size_t sent[2] = {40000, 20000};
  for (size_t r = 0; r < 2; ++r) {
    ranks[r].send(h);
    ranks[r].send(in[r].data(), sent[r]);
  }
  // Without another byte from anyone, the common part arrives, in whole multiples of 64, less at most one quantum.
  for (size_t r = 0; r < 2; ++r) {
    size_t got = 0;
    while (got + 1024 + 64 <= 20000) {
      std::optional<Frame> f = ranks[r].next_part();
      ASSERT_TRUE(f);
      EXPECT_EQ(f->head.type, wire::FrameType::kResult);
      EXPECT_EQ(f->head.more, 1);
      EXPECT_EQ(f->head.offset, got);
      EXPECT_GE(f->payload.size(), 1024u);
      EXPECT_EQ(f->payload.size() % 64, 0u);
      got += f->payload.size();
      ASSERT_LE(got, 20000u);
      for (size_t i = 0; i < f->payload.size() / 4; ++i) {
        float sum;
        memcpy(&sum, f->payload.data() + 4 * i, 4);
        const size_t at = f->head.offset / 4 + i;
        ASSERT_EQ(sum, in[0][at] + in[1][at]);
      }
    }
  }
  for (size_t r = 0; r < 2; ++r)
    ranks[r].send(reinterpret_cast<std::byte*>(in[r].data()) + sent[r], kBlock - sent[r]);
  for (size_t r = 0; r < 2; ++r) {
    std::optional<Frame> f;
    do f = ranks[r].next_part();
    while (f && f->head.more);
    ASSERT_TRUE(f);
    EXPECT_EQ(f->head.offset + f->payload.size(), kBlock);
  }
}

// Order-dependent types, bytes of all ranks trickling in by chance: the sums are those in rank order, bit by bit, and the
// window holds in blocks whatever is divided.
TEST(PartsOfBlocks, BitsDoNotDependOnHowInputsArrive) {
  constexpr uint32_t kRanks = 3;
  size_t parts = 0;
  for (unsigned seed = 0; seed < 12; ++seed) {
    std::mt19937 random(seed);
    const DType type = std::array{DType::kF16, DType::kBF16, DType::kF32, DType::kE5M2}[seed % 4];
    auto reducer = start_reducer(reducer_config(1, kBlock));
    Ranks ranks(*reducer, kRanks);
    const size_t bytes = 3 * kBlock + 4096 * (seed % 5) + 8 * seed;
    std::vector<std::vector<uint8_t>> in;
    std::vector<const void*> inputs;
    std::vector<Bytes> streams;
    for (uint32_t r = 0; r < kRanks; ++r) in.push_back(test::sample(type, bytes / dtype_size(type), random));
    for (auto& v : in) {
      inputs.push_back(v.data());
      streams.push_back(stream_of(RawWorker::all_reduce(0, bytes, type), v));
    }
    Bytes want(bytes), got(bytes);
    test::reduce_reference(type, RedOp::kSum, want.data(), inputs.data(), kRanks, bytes / dtype_size(type));
    size_t at[kRanks] = {};
    for (size_t left = kRanks; left > 0;) {
      const size_t r = random() % kRanks;
      if (at[r] == streams[r].size()) continue;
      const size_t n = std::min<size_t>(1 + random() % 20000, streams[r].size() - at[r]);
      ranks[r].send(streams[r].data() + at[r], n);
      at[r] += n;
      left -= at[r] == streams[r].size();
    }
    for (uint32_t r = 0; r < kRanks; ++r) {
      for (size_t done = 0; done < bytes;) {
        std::optional<Frame> f = ranks[r].next();
        ASSERT_TRUE(f);
        ASSERT_EQ(f->head.type, wire::FrameType::kResult) << f->text();
        ASSERT_EQ(f->head.offset, done);
        ASSERT_EQ(f->payload.size(), std::min<size_t>(kBlock, bytes - done)) << "blocks stay what they are";
        memcpy(got.data() + done, f->payload.data(), f->payload.size());
        done += f->payload.size();
      }
      ASSERT_EQ(memcmp(got.data(), want.data(), bytes), 0) << "rank " << r << ", seed " << seed;
      parts += ranks[r].parts();
    }
  }
  EXPECT_GT(parts, 0u) << "no block was divided: this tests nothing";
}

TEST(PartsOfBlocks, OtherCollectivesComeInWholeBlocks) {
  auto reducer = start_reducer(reducer_config(1, kBlock));
  Ranks ranks(*reducer, 2);
  wire::SliceHeader h = RawWorker::all_reduce(0, 2 * kBlock);
  h.coll = Coll::kReduceScatter;
  h.bytes_per_rank = kBlock;
  Bytes zeros(2 * kBlock);
  for (auto& w : ranks.w) {
    w->send(h);
    w->send(zeros.data(), 30000);
  }
  ASSERT_TRUE(test::eventually([&] { return reducer->stats().bytes_in == 60000; }));
  for (auto& w : ranks.w) w->send(zeros.data(), 2 * kBlock - 30000);
  for (auto& w : ranks.w) {
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(w->next());
    EXPECT_EQ(w->parts(), 0u);
  }
}

// The rest of a divided block never comes: the part that went is followed by the abort, on a frame border.
TEST(PartsOfBlocks, ARankLostInTheMiddleOfABlock) {
  auto reducer = start_reducer(reducer_config(1, kBlock));
  Ranks ranks(*reducer, 2);
  Bytes zeros(kBlock);
  for (auto& w : ranks.w) {
    w->send(RawWorker::all_reduce(0, kBlock));
    w->send(zeros.data(), 30000);
  }
  ASSERT_TRUE(ranks[0].next_part());
  ranks[1].shut();
  Frame f = ranks[0].expect_abort();
  EXPECT_EQ(f.code(), wire::AbortCode::kRankLost);
  EXPECT_EQ(f.about(), 1u);
}

}  // namespace
}  // namespace fanin
