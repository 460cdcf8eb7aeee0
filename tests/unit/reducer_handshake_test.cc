// Who is let in, who is told why not, and who is dropped without a word.
#include <gtest/gtest.h>

#include "tests/support/reducer_fixture.h"

namespace fanin {
namespace {

using test::eventually;
using test::has;
using test::RawWorker;
using test::start_reducer;
using wire::Refusal;

ReducerConfig config() {
  ReducerConfig c = test::reducer_config(2, 64 << 10);
  c.memory = 64 << 20;
  return c;
}

TEST(ReducerHandshake, AdmitsAndTellsTheSessionsValues) {
  auto r = start_reducer(config());
  RawWorker a(r->address()), b(r->address());
  wire::Welcome w = a.join(RawWorker::hello(RawWorker::session(1), 0, 2, 0, 1 << 20));
  EXPECT_EQ(w.lanes, 2u);
  EXPECT_EQ(w.block_bytes, 64u << 10);
  EXPECT_EQ(w.window_blocks, 8u);
  EXPECT_EQ(w.preamble.version, wire::kVersion);
  // The second rank asked for another window and gets the first one's.
  wire::Welcome v = b.join(RawWorker::hello(RawWorker::session(1), 1, 2, 1, 4 << 20));
  EXPECT_EQ(v.window_blocks, 8u);
  EXPECT_EQ(v.reducer, w.reducer);
  EXPECT_NE(w.reducer, wire::ReducerId{});
  ReducerStats s = r->stats();
  EXPECT_EQ(s.sessions_open, 1u);
  EXPECT_EQ(s.connections_open, 2u);
  EXPECT_EQ(s.memory_used, 2u * 3 * 8 * (64 << 10));
}

TEST(ReducerHandshake, WindowIsAtLeastFourBlocksAndRoundsUp) {
  auto r = start_reducer(config());
  RawWorker a(r->address()), b(r->address());
  EXPECT_EQ(a.join(RawWorker::hello(RawWorker::session(1), 0, 2, 0, 1)).window_blocks, 4u);
  EXPECT_EQ(b.join(RawWorker::hello(RawWorker::session(2), 0, 2, 0, (128 << 10) * 5 + 1)).window_blocks, 6u);
}

TEST(ReducerHandshake, EachStartHasItsOwnId) {
  auto r = start_reducer(config()), q = start_reducer(config());
  RawWorker a(r->address()), b(q->address());
  EXPECT_NE(a.join(RawWorker::hello(RawWorker::session(1), 0, 2)).reducer,
            b.join(RawWorker::hello(RawWorker::session(1), 0, 2)).reducer);
}

struct BadHello {
  const char* name;
  void (*change)(wire::Hello&);
  Refusal refusal;
  const char* text;
};

class ReducerRefuses : public testing::TestWithParam<BadHello> {};

TEST_P(ReducerRefuses, AndSaysWhy) {
  auto r = start_reducer(config());
  wire::Hello h = RawWorker::hello(RawWorker::session(1), 0, 2);
  GetParam().change(h);
  RawWorker a(r->address());
  EXPECT_EQ(a.greet(h).refusal, GetParam().refusal);
  EXPECT_TRUE(has(a.refusal(), GetParam().text)) << a.refusal();
  EXPECT_LE(a.refusal().size(), 190u) << a.refusal();  // "refused: " and it fit a rank's report whole
  a.expect_closed();
  ReducerStats s = r->stats();
  EXPECT_EQ(s.refused, 1u);
  EXPECT_EQ(s.strangers, 0u);
  EXPECT_EQ(s.sessions_open, 0u);
  EXPECT_EQ(s.memory_used, 0u);
  // And goes on serving.
  RawWorker b(r->address());
  b.join(RawWorker::hello(RawWorker::session(1), 0, 2));
}

const BadHello kBadHellos[] = {
    {"NewerVersion", [](wire::Hello& h) { h.preamble.version = wire::kVersion + 1; }, Refusal::kVersion,
     "upgrade the reducer"},
    {"OlderVersion", [](wire::Hello& h) { h.preamble.version = wire::kVersion - 1; }, Refusal::kVersion,
     "upgrade libnccl-net-fanin.so"},
    {"RankTooLarge", [](wire::Hello& h) { h.rank = 2; }, Refusal::kMalformed, "rank 2 of 2 is impossible"},
    {"NoRanks", [](wire::Hello& h) { h.nranks = 0; }, Refusal::kMalformed, "0 ranks"},
    {"TooManyRanks", [](wire::Hello& h) { h.nranks = wire::kMaxRanks + 1; }, Refusal::kMalformed,
     "4097 ranks"},
    {"NoSuchLane", [](wire::Hello& h) { h.lane = 2; }, Refusal::kMalformed, "lane 2 is not one of them"},
    {"EndlessWindow", [](wire::Hello& h) { h.window_bytes = UINT64_MAX; }, Refusal::kMalformed,
     "FANIN_WINDOW"},
    {"NoMemory", [](wire::Hello& h) { h.window_bytes = 32 << 20; }, Refusal::kNoMemory,
     "needs 96.0 MiB, 64.0 MiB of --memory 64.0 MiB are free"},
    {"NoMemoryExtreme",
     [](wire::Hello& h) {
       h.window_bytes = wire::kMaxWindowBytes;
       h.nranks = wire::kMaxRanks;
     },
     Refusal::kNoMemory, "--memory"},
};
INSTANTIATE_TEST_SUITE_P(All, ReducerRefuses, testing::ValuesIn(kBadHellos),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(ReducerHandshake, DuplicateRankNamesTheFirst) {
  auto r = start_reducer(config());
  RawWorker a(r->address()), b(r->address()), c(r->address());
  a.join(RawWorker::hello(RawWorker::session(1), 1, 2));
  Result<tcp::Address> first = tcp::local_address(a.fd());
  ASSERT_TRUE(first);
  EXPECT_EQ(b.greet(RawWorker::hello(RawWorker::session(1), 1, 2)).refusal, Refusal::kDuplicate);
  EXPECT_TRUE(has(b.refusal(), "rank 1 is already connected to lane 0")) << b.refusal();
  EXPECT_TRUE(has(b.refusal(), first->text().c_str())) << b.refusal();
  c.join(RawWorker::hello(RawWorker::session(1), 1, 2, 1));  // another lane is another seat
}

TEST(ReducerHandshake, RanksThatDisagreeOnTheirNumber) {
  auto r = start_reducer(config());
  RawWorker a(r->address()), b(r->address());
  a.join(RawWorker::hello(RawWorker::session(1), 0, 2));
  EXPECT_EQ(b.greet(RawWorker::hello(RawWorker::session(1), 1, 3)).refusal, Refusal::kMismatch);
  EXPECT_TRUE(has(b.refusal(), "rank 1 says the session has 3 ranks, the ranks before it said 2"))
      << b.refusal();
}

TEST(ReducerHandshake, MemoryOfEndedSessionsIsFreeAgain) {
  auto r = start_reducer(config());
  // 3 * 16 * 64 KiB * 2 lanes = 6 MiB each: ten fit into 64 MiB.
  std::vector<std::unique_ptr<RawWorker>> in;
  for (uint8_t i = 0; i < 10; ++i) {
    in.push_back(std::make_unique<RawWorker>(r->address()));
    in.back()->join(RawWorker::hello(RawWorker::session(i), 0, 2, 0, 2 << 20));
  }
  {
    RawWorker late(r->address());
    EXPECT_EQ(late.greet(RawWorker::hello(RawWorker::session(77), 0, 2, 0, 2 << 20)).refusal,
              Refusal::kNoMemory);
  }
  in[3]->send(RawWorker::goodbye());
  in[3]->expect_closed();
  ASSERT_TRUE(eventually([&] { return r->stats().sessions_open == 9; }));
  RawWorker late(r->address());
  late.join(RawWorker::hello(RawWorker::session(77), 0, 2, 0, 2 << 20));
  for (auto& w : in) w->shut();
  late.shut();
  EXPECT_TRUE(eventually([&] { return r->stats().memory_used == 0 && r->stats().sessions_open == 0; }));
}

TEST(ReducerHandshake, ConnectionLimit) {
  ReducerConfig c = config();
  c.max_connections = 1;
  auto r = start_reducer(c);
  RawWorker a(r->address()), b(r->address());
  a.join(RawWorker::hello(RawWorker::session(1), 0, 2));
  EXPECT_EQ(b.greet(RawWorker::hello(RawWorker::session(1), 1, 2)).refusal, Refusal::kTooMany);
  EXPECT_TRUE(has(b.refusal(), "--max-connections")) << b.refusal();
}

TEST(ReducerHandshake, HelloByteByByte) {
  auto r = start_reducer(config());
  RawWorker a(r->address());
  wire::Hello h = RawWorker::hello(RawWorker::session(1), 0, 2);
  for (size_t i = 0; i + 1 < sizeof h; ++i) a.send(reinterpret_cast<const char*>(&h) + i, 1);
  a.send(reinterpret_cast<const char*>(&h) + sizeof h - 1, 1);
  wire::Welcome w{};
  ASSERT_EQ(::recv(a.fd(), &w, sizeof w, MSG_WAITALL), static_cast<ssize_t>(sizeof w));
  EXPECT_EQ(w.refusal, Refusal::kNone);
}

TEST(ReducerHandshake, StrangersAreDroppedAndCounted) {
  auto r = start_reducer(config());
  const std::string strangers[] = {
      "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
      "\x16\x03\x01\x02",                      // TLS
      std::string("FAIN\x03\x00\x31\x00", 8),  // ours but for the size of the Hello
      std::string(100000, 'x'),
  };
  uint64_t n = 0;
  for (const std::string& s : strangers) {
    RawWorker a(r->address());
    a.send(s.data(), s.size());
    a.expect_closed();
    EXPECT_TRUE(eventually([&, want = ++n] { return r->stats().strangers == want; }));
  }
  RawWorker hangs_up(r->address());
  hangs_up.shut();
  EXPECT_TRUE(eventually([&, want = ++n] { return r->stats().strangers == want; }));
  EXPECT_EQ(r->stats().refused, 0u);
  RawWorker b(r->address());
  b.join(RawWorker::hello(RawWorker::session(1), 0, 2));
}

TEST(ReducerHandshake, SilentConnectionsEndAtTheDeadlineAndDelayNobody) {
  ReducerConfig c = config();
  c.handshake_timeout = std::chrono::milliseconds(1500);
  auto r = start_reducer(c);
  std::vector<std::unique_ptr<RawWorker>> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(std::make_unique<RawWorker>(r->address()));
  silent[0]->send("F", 1);
  RawWorker a(r->address());
  a.join(RawWorker::hello(RawWorker::session(1), 0, 2));
  for (auto& s : silent) s->expect_closed();
  EXPECT_TRUE(eventually([&] { return r->stats().strangers == 20; }));
  EXPECT_EQ(r->stats().connections_open, 1u);  // who was admitted has no deadline any more
}

TEST(ReducerHandshake, DrainingRefusesNewSessionsOnly) {
  auto r = start_reducer(config());
  RawWorker a(r->address()), b(r->address()), c(r->address());
  a.join(RawWorker::hello(RawWorker::session(1), 0, 2));
  EXPECT_FALSE(r->wait_drained(Deadline::after(std::chrono::milliseconds(0))));
  r->drain();
  EXPECT_EQ(c.greet(RawWorker::hello(RawWorker::session(2), 0, 2)).refusal, Refusal::kDraining);
  b.join(RawWorker::hello(RawWorker::session(1), 1, 2));
  EXPECT_FALSE(r->wait_drained(Deadline::after(std::chrono::milliseconds(10))));
  a.send(RawWorker::goodbye());
  b.send(RawWorker::goodbye());
  EXPECT_TRUE(r->wait_drained(Deadline::after(std::chrono::milliseconds(10000))));
  EXPECT_EQ(r->stats().sessions_total, 1u);
}

TEST(ReducerConfigCheck, NamesWhatIsWrong) {
  struct {
    void (*change)(ReducerConfig&);
    const char* text;
  } const cases[] = {
      {[](ReducerConfig& c) { c.lanes = 0; }, "lanes is 0"},
      {[](ReducerConfig& c) { c.lanes = wire::kMaxLanes + 1; }, "lanes is 257"},
      {[](ReducerConfig& c) { c.block_bytes = 5000; }, "multiple of 64"},
      {[](ReducerConfig& c) { c.memory = 1 << 20; }, "needs at least 1572864"},
  };
  for (auto& t : cases) {
    ReducerConfig c = config();
    t.change(c);
    auto r = Reducer::start(c);
    ASSERT_FALSE(r);
    EXPECT_TRUE(has(r.error().text(), t.text)) << r.error().text();
  }
  auto first = start_reducer(config());
  ReducerConfig c = config();
  c.listen = first->address();
  auto r = Reducer::start(c);
  ASSERT_FALSE(r);
  EXPECT_TRUE(has(r.error().text(), "cannot bind")) << r.error().text();
}

}  // namespace
}  // namespace fanin
