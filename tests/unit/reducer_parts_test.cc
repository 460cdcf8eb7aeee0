// The reducer's data structures on their own: how slices are cut, block buffers, the handshake's bytes, the session table.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "reducer/block_arena.h"
#include "reducer/handshake.h"
#include "reducer/session_table.h"
#include "reducer/slice.h"
#include "tests/support/raw_worker.h"

namespace fanin::reducer {
namespace {

using test::RawWorker;

TEST(Slice, BlocksCoverTheSliceAndTheirPartsTheBlock) {
  std::mt19937 random(7);
  auto below = [&](uint64_t n) { return std::uniform_int_distribution<uint64_t>(0, n - 1)(random); };
  for (int i = 0; i < 2000; ++i) {
    uint32_t nranks = 1 + static_cast<uint32_t>(below(6)), block = 4096;
    wire::SliceHeader h = RawWorker::all_reduce(0, 0, DType::kI8);
    h.coll = Coll::kReduceScatter;
    h.bytes_per_rank = 1 + below(9000);
    uint64_t all = h.bytes_per_rank * nranks;
    h.window_offset = below(all);
    h.message_bytes = 1 + below(all - h.window_offset);
    h.offset = below(h.message_bytes);
    h.length = 1 + below(h.message_bytes - h.offset);
    ASSERT_TRUE(check_slice(h, nranks)) << check_slice(h, nranks).error().text();
    uint64_t covered = 0;
    for (uint64_t b = 0; b < block_count(h, block); ++b) {
      Part whole = whole_block(h, b, block);
      ASSERT_EQ(whole.begin, 0u);
      ASSERT_GT(whole.bytes, 0u);
      ASSERT_LE(whole.bytes, block);
      uint32_t at = 0;  // owners follow each other without gap or overlap
      for (uint32_t r = 0; r < nranks; ++r) {
        Part p = owned_part(h, b, block, r);
        if (p.bytes == 0) continue;
        ASSERT_EQ(p.begin, at);
        at += p.bytes;
        uint64_t first = h.window_offset + h.offset + b * block + p.begin;
        ASSERT_EQ(first / h.bytes_per_rank, r);
        ASSERT_EQ((first + p.bytes - 1) / h.bytes_per_rank, r);
      }
      ASSERT_EQ(at, whole.bytes);
      covered += whole.bytes;
    }
    ASSERT_EQ(covered, h.length);
  }
}

TEST(Slice, WhoSendsAndWhoGetsWhat) {
  wire::SliceHeader h = RawWorker::all_reduce(0, 8192);
  EXPECT_EQ(sent_part(h, 1, 4096, 0).bytes, 4096u);
  EXPECT_EQ(result_part(h, 1, 4096, 0).bytes, 4096u);
  h.bytes_per_rank = 6000;
  h.coll = Coll::kReduceScatter;
  EXPECT_EQ(sent_part(h, 1, 4096, 1).bytes, 4096u);
  EXPECT_EQ(result_part(h, 1, 4096, 1).begin, 6000u - 4096);
  EXPECT_EQ(result_part(h, 1, 4096, 1).bytes, 8192u - 6000);
  EXPECT_EQ(result_part(h, 0, 4096, 1).bytes, 0u);
  h.coll = Coll::kAllGather;
  EXPECT_EQ(sent_part(h, 0, 4096, 1).bytes, 0u);
  EXPECT_EQ(sent_part(h, 1, 4096, 0).bytes, 6000u - 4096);
  EXPECT_EQ(result_part(h, 1, 4096, 0).bytes, 4096u);
}

TEST(Slice, EveryFieldOfTheDescriptionCounts) {
  const wire::SliceHeader h = RawWorker::all_reduce(3, 4096);
  EXPECT_TRUE(same_slice(h, h));
  auto differs = [&](auto change) {
    wire::SliceHeader g = h;
    change(g);
    return !same_slice(h, g) && disagreement(1, g, 0, h).find("rank 1 sent ") == 0;
  };
  EXPECT_TRUE(differs([](auto& g) { g.coll = Coll::kAllGather; }));
  EXPECT_TRUE(differs([](auto& g) { g.dtype = DType::kI8; }));
  EXPECT_TRUE(differs([](auto& g) { g.op = RedOp::kMin; }));
  EXPECT_TRUE(differs([](auto& g) { g.message = 4; }));
  EXPECT_TRUE(differs([](auto& g) { g.message_bytes = 4; }));
  EXPECT_TRUE(differs([](auto& g) { g.offset = 4; }));
  EXPECT_TRUE(differs([](auto& g) { g.length = 4; }));
  EXPECT_TRUE(differs([](auto& g) { g.bytes_per_rank = 4; }));
  EXPECT_TRUE(differs([](auto& g) { g.window_offset = 4; }));
}

TEST(BlockArena, HandsOutEachBlockOnceAndReusesTheLastFreed) {
  auto made = BlockArena::make(8, 4096);
  ASSERT_TRUE(made);
  BlockArena a = *std::move(made);
  std::set<std::byte*> out;
  for (int i = 0; i < 8; ++i) {
    std::byte* b = a.take();
    ASSERT_NE(b, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(b) % 64, 0u);
    b[0] = b[4095] = std::byte{1};
    EXPECT_TRUE(out.insert(b).second);
  }
  EXPECT_EQ(a.take(), nullptr);
  EXPECT_EQ(a.in_use(), 8u);
  std::byte* last = *out.rbegin();
  a.give(*out.begin());
  a.give(last);
  EXPECT_EQ(a.in_use(), 6u);
  EXPECT_EQ(a.take(), last);
  BlockArena moved = std::move(a);
  EXPECT_EQ(moved.take(), *out.begin());
}

TEST(BlockArena, MoreThanAnAddressSpaceIsAnError) {
  EXPECT_FALSE(BlockArena::make(size_t{1} << 20, size_t{1} << 40));
}

TEST(Handshake, KnowsAStrangerAtTheFirstWrongByte) {
  wire::Hello h = RawWorker::hello(RawWorker::session(1), 0, 2);
  std::byte b[sizeof h];
  memcpy(b, &h, sizeof h);
  EXPECT_EQ(hello_state(b, 0), HelloState::kMore);
  for (size_t n = 1; n < sizeof h; ++n) EXPECT_EQ(hello_state(b, n), HelloState::kMore) << n;
  EXPECT_EQ(hello_state(b, sizeof h), HelloState::kComplete);
  for (size_t i = 0; i < 8; ++i) {
    std::byte was = std::exchange(b[i], std::byte{0xaa});
    HelloState wrong = i == 4 || i == 5 ? HelloState::kVersion : HelloState::kStranger;
    EXPECT_EQ(hello_state(b, i < 4 ? i + 1 : 8), wrong) << i;
    b[i] = was;
  }
}

TEST(Handshake, WelcomeTextIsBounded) {
  std::string bytes = welcome_bytes({}, std::string(5000, 'x'));
  EXPECT_EQ(bytes.size(), sizeof(wire::Welcome) + wire::kMaxText);
}

TEST(SessionTable, CountsGoBackToNothing) {
  SessionTable table({3, 4096, 3 * 3 * 4 * 4096, 100});
  std::vector<Admission> in;
  for (uint32_t lane = 0; lane < 3; ++lane)
    for (uint32_t rank = 0; rank < 2; ++rank)
      in.push_back(table.admit(RawWorker::hello(RawWorker::session(1), rank, 2, lane, 1), "peer"));
  for (auto& a : in) ASSERT_TRUE(a.session) << a.text;
  EXPECT_TRUE(in[0].first);
  EXPECT_FALSE(in[1].first);
  EXPECT_EQ(table.counts().memory_used, 3u * 3 * 4 * 4096);
  EXPECT_EQ(table.admit(RawWorker::hello(RawWorker::session(2), 0, 2, 0, 1), "peer").refusal,
            wire::Refusal::kNoMemory);
  for (size_t i = 0; i < in.size(); ++i)
    EXPECT_EQ(table.leave(in[i].session, static_cast<uint32_t>(i / 2), static_cast<uint32_t>(i % 2)),
              i + 1 == in.size());
  SessionTable::Counts c = table.counts();
  EXPECT_EQ(c.open + c.connections + c.memory_used, 0u);
  EXPECT_EQ(c.total, 1u);
  EXPECT_FALSE(table.wait_drained(Deadline::after(std::chrono::milliseconds(0))));
  table.drain();
  EXPECT_TRUE(table.wait_drained(Deadline::never()));
}

}  // namespace
}  // namespace fanin::reducer
