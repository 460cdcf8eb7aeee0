// Every byte of every collective, over ranks, lanes, sizes and windows, through the wire.
#include <gtest/gtest.h>

#include "tests/support/reducer_fixture.h"

namespace fanin {
namespace {

using test::Bytes;
using test::Call;
using test::eventually;
using test::Frame;
using test::RawWorker;
using test::reducer_config;
using test::start_reducer;

class ReducerCollectives : public testing::TestWithParam<std::tuple<uint32_t, uint32_t>> {
 protected:
  uint32_t nranks() const { return std::get<0>(GetParam()); }
  uint32_t lanes() const { return std::get<1>(GetParam()); }

  void run(const std::vector<Call>& calls) {
    auto reducer = start_reducer(reducer_config(lanes()));
    test::run_session(reducer->address(), 1, nranks(), lanes(), 6 * 4096, calls);
    EXPECT_TRUE(eventually([&] { return reducer->stats().sessions_open == 0; }));
    ReducerStats s = reducer->stats();
    EXPECT_EQ(s.memory_used, 0u);
    EXPECT_EQ(s.aborted, 0u);
    EXPECT_EQ(s.connections_open, 0u);
    uint64_t reduced = 0, gathered = 0;
    for (const Call& c : calls) {
      (c.coll == Coll::kAllGather ? gathered : reduced) += c.bytes;
    }
    EXPECT_EQ(s.bytes_reduced, reduced);
    EXPECT_EQ(s.bytes_in, reduced * nranks() + gathered);
  }
};

TEST_P(ReducerCollectives, AllReduceOfManySizesInFlight) {
  std::vector<Call> calls;
  for (size_t bytes : {4u, 100u, 4092u, 4096u, 4100u, 8192u, 12345u * 4, 4u, 60000u, 4096u * 9, 8u, 200000u})
    calls.push_back({Coll::kAllReduce, bytes});
  run(calls);
}

TEST_P(ReducerCollectives, ManySmallMessages) {
  std::vector<Call> calls;
  for (size_t i = 0; i < 300; ++i) calls.push_back({Coll::kAllReduce, 4 * (1 + i % 50)});
  run(calls);
}

TEST_P(ReducerCollectives, ReduceScatterOfWholeAndPartialWindows) {
  std::vector<Call> calls;
  for (size_t per : {4u, 1000u, 4096u, 20004u, 4u * 4096}) {
    size_t all = per * nranks();
    calls.push_back({Coll::kReduceScatter, all, per, 0});
    size_t skip = all / 8 * 4;  // about half, whole elements
    calls.push_back({Coll::kReduceScatter, all - skip, per, skip});
    if (all > 8) calls.push_back({Coll::kReduceScatter, all / 8 * 4, per, 4});
  }
  run(calls);
}

TEST_P(ReducerCollectives, AllGatherOfWholeAndPartialWindows) {
  std::vector<Call> calls;
  for (size_t per :
       {4u, 1000u, 4096u, 20004u, 12u * 4096}) {  // the last: more foreign blocks than the window has
    size_t all = per * nranks();
    calls.push_back({Coll::kAllGather, all, per, 0});
    size_t skip = all / 8 * 4;
    calls.push_back({Coll::kAllGather, all - skip, per, skip});
  }
  run(calls);
}

TEST_P(ReducerCollectives, MixedInOneStream) {
  std::vector<Call> calls;
  for (int i = 0; i < 5; ++i) {
    calls.push_back({Coll::kAllReduce, 30000});
    calls.push_back({Coll::kAllGather, 10000u * nranks(), 10000, 0});
    calls.push_back({Coll::kAllReduce, 4});
    calls.push_back({Coll::kReduceScatter, 5000u * nranks(), 5000, 0});
  }
  run(calls);
}

INSTANTIATE_TEST_SUITE_P(Ranks, ReducerCollectives,
                         testing::Combine(testing::Values(1u, 2u, 3u, 5u), testing::Values(1u, 3u)),
                         [](const auto& info) {
                           return std::to_string(std::get<0>(info.param)) + "Ranks" +
                                  std::to_string(std::get<1>(info.param)) + "Lanes";
                         });

Bytes bytes_of(const std::vector<float>& v) {
  auto* p = reinterpret_cast<const std::byte*>(v.data());
  return Bytes(p, p + v.size() * 4);
}

// Floats whose sum depends on the order of addition.
TEST(ReducerOrder, ResultBitsFollowRankOrderWhateverTheArrival) {
  auto reducer = start_reducer(reducer_config());
  const std::vector<std::vector<float>> in = {{1e8f, 1.f, 0.1f}, {1.f, 1e8f, 0.2f}, {-1e8f, -1e8f, 0.3f}};
  std::vector<float> want = in[0];
  for (size_t r = 1; r < in.size(); ++r)
    for (size_t i = 0; i < want.size(); ++i) want[i] += in[r][i];
  std::vector<uint32_t> order = {0, 1, 2};
  uint8_t tag = 0;
  do {
    ++tag;
    std::vector<std::unique_ptr<RawWorker>> w;
    for (uint32_t r = 0; r < 3; ++r) {
      w.push_back(std::make_unique<RawWorker>(reducer->address()));
      w.back()->join(RawWorker::hello(RawWorker::session(tag), r, 3));
    }
    uint64_t before = reducer->stats().bytes_in;
    for (uint32_t r : order) {
      w[r]->send(RawWorker::all_reduce(0, 12));
      w[r]->send(bytes_of(in[r]));
      before += 12;  // the next rank sends once this one's bytes are in
      ASSERT_TRUE(eventually([&] { return reducer->stats().bytes_in == before; }));
    }
    for (auto& worker : w) {
      std::optional<Frame> f = worker->next();
      ASSERT_TRUE(f);
      EXPECT_EQ(f->payload, bytes_of(want)) << "arrival order " << order[0] << order[1] << order[2];
      worker->send(RawWorker::goodbye());
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(ReducerStream, DeliveredByteByByte) {
  auto reducer = start_reducer(reducer_config());
  RawWorker a(reducer->address()), b(reducer->address());
  a.join(RawWorker::hello(RawWorker::session(1), 0, 2));
  b.join(RawWorker::hello(RawWorker::session(1), 1, 2));
  std::vector<Bytes> one, other;
  for (uint64_t m = 0; m < 3; ++m) {
    std::vector<float> va(50, 1.5f + static_cast<float>(m)), vb(50, 2.f);
    a.append(&one, RawWorker::all_reduce(m, 200), bytes_of(va).data());
    b.append(&other, RawWorker::all_reduce(m, 200), bytes_of(vb).data());
  }
  std::thread slow([&] {
    for (const Bytes& block : one)
      for (std::byte byte : block) a.send(&byte, 1);
    for (uint64_t m = 0; m < 3; ++m) {
      auto f = a.next();
      ASSERT_TRUE(f);
      EXPECT_EQ(f->payload, bytes_of(std::vector<float>(50, 3.5f + static_cast<float>(m))));
    }
  });
  EXPECT_EQ(b.exchange(other).size(), 3u);
  slow.join();
}

TEST(ReducerStream, SessionsOfDifferentJobsAtOnce) {
  auto reducer = start_reducer(reducer_config(2));
  std::vector<Call> calls;
  for (int i = 0; i < 20; ++i) calls.push_back({Coll::kAllReduce, 10000u + 4000u * static_cast<unsigned>(i)});
  std::thread one([&] { test::run_session(reducer->address(), 1, 3, 2, 8 * 4096, calls); });
  std::thread two([&] { test::run_session(reducer->address(), 2, 2, 2, 4096, calls); });
  test::run_session(reducer->address(), 3, 1, 2, 1 << 20, calls);
  one.join();
  two.join();
  EXPECT_TRUE(eventually([&] { return reducer->stats().memory_used == 0; }));
  EXPECT_EQ(reducer->stats().sessions_total, 3u);
}

TEST(ReducerStream, BlockSizes) {
  for (uint32_t block : {4096u, 4096u + 64, 65536u, 1u << 20}) {
    auto reducer = start_reducer(reducer_config(1, block));
    test::run_session(reducer->address(), 1, 2, 1, 1 << 20,
                      {{Coll::kAllReduce, 1 << 20}, {Coll::kAllReduce, 4}, {Coll::kAllReduce, 3 * 4096 + 4}});
  }
}

}  // namespace
}  // namespace fanin
