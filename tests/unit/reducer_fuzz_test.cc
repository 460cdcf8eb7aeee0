// Clients that send anything: frames with a bit or a field changed, cut at any byte, ended in any way. The reducer must answer
// with results, an abort or a closed connection, give everything back and go on serving.
#include <gtest/gtest.h>

#include <random>

#include "tests/support/reducer_fixture.h"

namespace fanin {
namespace {

using test::Bytes;
using test::eventually;
using test::RawWorker;

class Chaos {
 public:
  explicit Chaos(uint32_t seed) : random_(seed) {}
  uint64_t below(uint64_t n) { return std::uniform_int_distribution<uint64_t>(0, n - 1)(random_); }
  bool one_in(uint64_t n) { return below(n) == 0; }

  // A plausible slice, the same for every rank that asks with the same message number.
  static wire::SliceHeader slice(uint64_t message, uint32_t nranks) {
    std::mt19937 r(static_cast<uint32_t>(message));
    wire::SliceHeader h = RawWorker::all_reduce(message, 4 * (1 + r() % 4000));
    h.coll = static_cast<Coll>(r() % 3);
    if (h.coll != Coll::kAllReduce) h.bytes_per_rank = (h.message_bytes + nranks - 1) / nranks;
    return h;
  }

  // What one rank sends in its life.
  Bytes stream(RawWorker& w, uint32_t nranks) {
    std::vector<Bytes> blocks;
    Bytes window(1 << 16, std::byte{1}), out;
    for (uint64_t m = 0, n = below(5); m < n; ++m) w.append(&blocks, slice(m, nranks), window.data());
    for (const Bytes& b : blocks) out.insert(out.end(), b.begin(), b.end());
    if (one_in(2)) {
      wire::SliceHeader bye = RawWorker::goodbye();
      if (one_in(3)) bye.type = wire::FrameType::kAbort, bye.text_bytes = static_cast<uint32_t>(below(1100));
      auto* p = reinterpret_cast<const std::byte*>(&bye);
      out.insert(out.end(), p, p + sizeof bye);
    }
    if (!out.empty() && one_in(2))
      for (uint64_t i = 0, n = below(4); i < n; ++i)
        out[below(one_in(2) ? std::min<size_t>(out.size(), 64) : out.size())] ^=
            std::byte{uint8_t(1u << below(8))};
    if (one_in(4)) out.resize(below(out.size() + 1));
    return out;
  }

 private:
  std::mt19937 random_;
};

TEST(ReducerFuzz, SurvivesAnyClient) {
  auto reducer = test::start_reducer(test::reducer_config());
  Chaos chaos(20260101);
  for (int round = 0; round < 250; ++round) {
    uint32_t nranks = 1 + static_cast<uint32_t>(chaos.below(3));
    wire::SessionId id{};
    memcpy(id.data(), &round, sizeof round);
    std::vector<std::unique_ptr<RawWorker>> w;
    std::vector<Bytes> out;
    for (uint32_t r = 0; r < nranks; ++r) {
      w.push_back(std::make_unique<RawWorker>(reducer->address()));
      wire::Hello h = RawWorker::hello(id, r, nranks, 0, 4096 * (1 + chaos.below(12)));
      w.back()->greet(h);
      out.push_back(chaos.stream(*w.back(), nranks));
    }
    // Interleaved pieces of any length; the kernel's buffers take all of it.
    std::vector<size_t> at(nranks);
    for (uint32_t idle = 0; idle < 4 * nranks;) {
      size_t r = chaos.below(nranks);
      size_t n = std::min<size_t>(out[r].size() - at[r], 1 + chaos.below(chaos.one_in(3) ? 70 : 30000));
      if (n == 0) {
        ++idle;
        continue;
      }
      at[r] += w[r]->try_send(out[r].data() + at[r], n);
      if (chaos.one_in(50)) break;
    }
    for (auto& worker : w) chaos.one_in(2) ? worker->shut() : worker->reset();
  }
  EXPECT_TRUE(eventually([&] { return reducer->stats().connections_open == 0; }));
  ReducerStats s = reducer->stats();
  EXPECT_EQ(s.memory_used, 0u);
  EXPECT_EQ(s.sessions_open, 0u);
  EXPECT_GT(s.aborted, 50u);
  EXPECT_GT(s.messages, 50u);  // and not everything was refused
  test::run_session(reducer->address(), 99, 3, 1, 1 << 16, {{Coll::kAllReduce, 100000}});
}

TEST(ReducerFuzz, SurvivesAnyHello) {
  auto reducer = test::start_reducer(test::reducer_config());
  Chaos chaos(7);
  for (int round = 0; round < 300; ++round) {
    RawWorker w(reducer->address());
    wire::Hello h = RawWorker::hello(RawWorker::session(1), 0, 2);
    auto* bytes = reinterpret_cast<std::byte*>(&h);
    for (int i = 0; i < 3; ++i) bytes[chaos.below(sizeof h)] = std::byte{uint8_t(chaos.below(256))};
    w.try_send(&h, chaos.one_in(3) ? chaos.below(sizeof h) : sizeof h);
  }
  EXPECT_TRUE(eventually([&] { return reducer->stats().connections_open == 0; }));
  EXPECT_EQ(reducer->stats().memory_used, 0u);
  test::run_session(reducer->address(), 99, 2, 1, 1 << 16, {{Coll::kAllReduce, 100000}});
}

}  // namespace
}  // namespace fanin
