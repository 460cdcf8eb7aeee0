// The ring's message sequence, played by n ranks in one thread: results are right, nothing is moved twice,
// and every message can be sent before the one that waits for it.
#include <gtest/gtest.h>

#include <deque>
#include <numeric>

#include "perf/fanin_perf/ring_plan.h"

namespace fanin::perf {
namespace {

// A rank's data is one number a byte; sums are of numbers, so that contributions can be told apart.
using Data = std::vector<uint64_t>;

struct Player {
  std::vector<RingPlan> plans;  // a plan per channel
  Data in, out;
  std::vector<std::vector<Data>> held;  // per channel: what message m brought, reduced
  std::vector<size_t> sent, received;
};

uint64_t own(size_t rank, size_t i) { return (uint64_t{1} << (8 * rank)) * (1 + i % 200); }

class RingPlanTest : public testing::TestWithParam<std::tuple<Coll, size_t, size_t, size_t>> {};

TEST_P(RingPlanTest, MovesEverythingWhereItBelongs) {
  auto [coll, n, channels, wanted] = GetParam();
  size_t bytes = coll == Coll::kAllReduce ? wanted : wanted / n * n, share = bytes / n;
  std::vector<Player> ranks(n);
  for (size_t r = 0; r < n; r++) {
    Player& p = ranks[r];
    for (size_t c = 0; c < channels; c++) p.plans.emplace_back(coll, bytes, r, n, c, channels);
    p.in.resize(coll == Coll::kAllGather ? share : bytes);
    for (size_t i = 0; i < p.in.size(); i++) p.in[i] = own(r, i);
    p.out.assign(coll == Coll::kReduceScatter ? share : bytes, 0);
    if (coll == Coll::kAllGather)
      std::copy(p.in.begin(), p.in.end(), p.out.begin() + static_cast<long>(r * share));
    p.held.resize(channels);
    p.sent.resize(channels), p.received.resize(channels);
  }
  std::vector<std::vector<std::deque<Data>>> wires(n, std::vector<std::deque<Data>>(channels));  // into rank
  bool moved = true;
  while (moved) {
    moved = false;
    for (size_t r = 0; r < n; r++)
      for (size_t c = 0; c < channels; c++) {
        Player& p = ranks[r];
        const RingPlan& plan = p.plans[c];
        size_t m = p.sent[c];
        if (m < plan.messages() && (plan.starts_chain(m) || m - RingPlan::kSlices < p.received[c])) {
          RingPlan::Chunk k = plan.sent(m);
          Data data;
          if (plan.starts_chain(m)) {
            auto from = p.in.begin() + static_cast<long>(coll == Coll::kAllGather ? k.column : k.offset);
            if (k.bytes > 0) data.assign(from, from + static_cast<long>(k.bytes));
          } else {
            ASSERT_TRUE(plan.passes_on(m - RingPlan::kSlices));
            data = p.held[c][m - RingPlan::kSlices];
          }
          ASSERT_EQ(data.size(), k.bytes);
          wires[(r + 1) % n][c].push_back(data);
          p.sent[c]++, moved = true;
        }
        m = p.received[c];
        if (m < plan.messages() && !wires[r][c].empty()) {
          RingPlan::Chunk k = plan.received(m);
          Data data = wires[r][c].front();
          wires[r][c].pop_front();
          ASSERT_EQ(data.size(), k.bytes) << "rank " << r << " message " << m;
          ASSERT_LE(k.bytes, RingPlan::kMaxChunkBytes);
          if (plan.reduces(m))
            for (size_t i = 0; i < k.bytes; i++) data[i] += p.in[k.offset + i];
          if (!plan.reduces(m) || plan.finishes(m)) {
            size_t at = coll == Coll::kReduceScatter ? k.column : k.offset;
            for (size_t i = 0; i < k.bytes; i++) p.out[at + i] = data[i];
          }
          p.held[c].push_back(data);
          p.received[c]++, moved = true;
        }
      }
  }
  for (size_t r = 0; r < n; r++) {
    for (size_t c = 0; c < channels; c++) {
      EXPECT_EQ(ranks[r].sent[c], ranks[r].plans[c].messages());
      EXPECT_EQ(ranks[r].received[c], ranks[r].plans[c].messages());
    }
    for (size_t i = 0; i < ranks[r].out.size(); i++) {
      uint64_t want = 0;
      if (coll == Coll::kAllGather)
        want = own(i / share, i % share);
      else
        for (size_t q = 0; q < n; q++) want += own(q, coll == Coll::kReduceScatter ? r * share + i : i);
      ASSERT_EQ(ranks[r].out[i], want) << "rank " << r << " byte " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, RingPlanTest,
                         testing::Combine(testing::Values(Coll::kAllReduce, Coll::kAllGather,
                                                          Coll::kReduceScatter),
                                          testing::Values(2, 3, 5), testing::Values(1, 3),
                                          testing::Values(1000, 7 * 64 * 15, 300'007)));

TEST(RingPlan, LargeDataGoesInSeveralLoops) {
  size_t bytes = 3ul * 64 << 20;
  RingPlan plan(Coll::kAllReduce, bytes, 0, 3, 0, 1);
  EXPECT_EQ(plan.chunk_bytes(), RingPlan::kMaxChunkBytes);
  EXPECT_EQ(plan.messages(), (64ul << 20) / RingPlan::kMaxChunkBytes * 4);
}

TEST(RingPlan, SmallDataUsesFewChannels) {
  EXPECT_EQ(RingPlan::channels_for(Coll::kAllReduce, 4, 2, 16), 1u);
  EXPECT_EQ(RingPlan::channels_for(Coll::kAllReduce, 64 << 20, 2, 16), 16u);
  EXPECT_EQ(RingPlan::channels_for(Coll::kAllReduce, 512 << 10, 2, 16), 4u);
}

}  // namespace
}  // namespace fanin::perf
