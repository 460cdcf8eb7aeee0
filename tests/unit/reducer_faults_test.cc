// What breaks and what every rank is told: disagreement, lost and departed ranks, impossible frames, overrun windows,
// silence, slow readers; and that the reducer goes on serving whatever a client sends.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <mutex>
#include <set>

#include "tests/support/reducer_fixture.h"

namespace fanin {
namespace {

using test::Bytes;
using test::eventually;
using test::Frame;
using test::has;
using test::RawWorker;
using test::reducer_config;
using test::start_reducer;
using wire::AbortCode;

const Bytes kPayload(1 << 20);

// nranks workers of one session on lane 0.
struct Session {
  Session(const Reducer& reducer, uint32_t nranks, uint8_t tag = 1, uint64_t window = 4 * 4096) {
    for (uint32_t r = 0; r < nranks; ++r) {
      w.push_back(std::make_unique<RawWorker>(reducer.address()));
      w.back()->join(RawWorker::hello(RawWorker::session(tag), r, nranks, 0, window));
    }
  }
  RawWorker& operator[](size_t r) { return *w[r]; }
  std::vector<std::unique_ptr<RawWorker>> w;
};

void send_message(RawWorker& w, const wire::SliceHeader& h) {
  w.send(h);
  w.send(kPayload.data(), h.length);
}

class ReducerFaults : public testing::Test {
 protected:
  // Whatever a test did: nothing may be left of it, and a new session must work.
  void TearDown() override {
    EXPECT_TRUE(eventually([&] { return reducer_->stats().connections_open == 0; }));
    EXPECT_EQ(reducer_->stats().memory_used, 0u);
    EXPECT_EQ(reducer_->stats().sessions_open, 0u);
    test::run_session(reducer_->address(), 99, 2, 1, 1 << 16, {{Coll::kAllReduce, 100000}});
  }
  std::unique_ptr<Reducer> reducer_ = start_reducer(reducer_config());
};

TEST_F(ReducerFaults, LostRankIsNamedToTheOthers) {
  Session s(*reducer_, 3);
  Result<tcp::Address> from = tcp::local_address(s[1].fd());
  s[1].shut();
  for (size_t r : {0, 2}) {
    Frame f = s[r].expect_abort();
    EXPECT_EQ(f.code(), AbortCode::kRankLost);
    EXPECT_EQ(f.about(), 1u);
    EXPECT_TRUE(has(f.text(), "rank 1 (" + from->text() + ") is gone")) << f.text();
    s[r].expect_closed();
  }
  EXPECT_EQ(reducer_->stats().aborted, 1u);
}

TEST_F(ReducerFaults, RankLostInMidPayload) {
  Session s(*reducer_, 2);
  s[0].send(RawWorker::all_reduce(0, 8192));
  s[0].send(kPayload.data(), 5000);
  send_message(s[1], RawWorker::all_reduce(0, 8192));
  s[0].reset();
  EXPECT_EQ(s[1].expect_abort().about(), 0u);
}

TEST_F(ReducerFaults, ABrokenSessionAdmitsNobody) {
  RawWorker a(reducer_->address()), b(reducer_->address()), c(reducer_->address());
  a.join(RawWorker::hello(RawWorker::session(5), 0, 3));
  b.join(RawWorker::hello(RawWorker::session(5), 1, 3));
  b.shut();
  a.expect_abort();
  EXPECT_EQ(c.greet(RawWorker::hello(RawWorker::session(5), 2, 3)).refusal, wire::Refusal::kBroken);
  a.shut();
  ASSERT_TRUE(eventually([&] { return reducer_->stats().sessions_open == 0; }));
  RawWorker late(reducer_->address());  // also once nothing else is left of the session
  EXPECT_EQ(late.greet(RawWorker::hello(RawWorker::session(5), 2, 3)).refusal, wire::Refusal::kBroken);
}

struct Disagreement {
  const char* name;
  void (*change)(wire::SliceHeader&);
  const char* text;
};
class ReducerDisagreement : public ReducerFaults, public testing::WithParamInterface<Disagreement> {};

TEST_P(ReducerDisagreement, IsToldToBoth) {
  Session s(*reducer_, 4);
  wire::SliceHeader h = RawWorker::all_reduce(7, 4096);
  h.offset = 0;
  h.length = 2048;
  send_message(s[0], h);
  ASSERT_TRUE(eventually([&] { return reducer_->stats().bytes_in == 2048; }));
  GetParam().change(h);
  s[3].send(h);
  for (auto& w : s.w) {
    Frame f = w->expect_abort();
    EXPECT_EQ(f.code(), AbortCode::kDisagreement);
    EXPECT_EQ(f.about(), 3u);
    EXPECT_TRUE(has(f.text(), GetParam().text)) << f.text();
    EXPECT_TRUE(has(f.text(), "rank 0 sent all-reduce float sum of 4096 bytes as message 7")) << f.text();
    w->expect_closed();
  }
}

const Disagreement kDisagreements[] = {
    {"Type", [](wire::SliceHeader& h) { h.dtype = DType::kF16; },
     "rank 3 sent all-reduce half sum of 4096 bytes as message 7"},
    {"Operator", [](wire::SliceHeader& h) { h.op = RedOp::kMax; },
     "rank 3 sent all-reduce float max of 4096 bytes as message 7"},
    {"Size", [](wire::SliceHeader& h) { h.message_bytes = 8192; },
     "rank 3 sent all-reduce float sum of 8192 bytes as message 7"},
    {"Message", [](wire::SliceHeader& h) { h.message = 8; },
     "rank 3 sent all-reduce float sum of 4096 bytes as message 8"},
    {"Range", [](wire::SliceHeader& h) { h.offset = 1024; }, "message 7 (slice 1024+2048)"},
    {"Length", [](wire::SliceHeader& h) { h.length = 1024; }, "message 7 (slice 0+1024)"},
    {"Collective",
     [](wire::SliceHeader& h) {
       h.coll = Coll::kReduceScatter;
       h.bytes_per_rank = 1024;
     },
     "rank 3 sent reduce-scatter float sum of 4096 bytes as message 7"},
};
INSTANTIATE_TEST_SUITE_P(All, ReducerDisagreement, testing::ValuesIn(kDisagreements),
                         [](const auto& info) { return std::string(info.param.name); });

struct Impossible {
  const char* name;
  void (*change)(wire::SliceHeader&);
  const char* text;
};
class ReducerImpossible : public ReducerFaults, public testing::WithParamInterface<Impossible> {};

TEST_P(ReducerImpossible, FrameAbortsTheSession) {
  Session s(*reducer_, 2);
  wire::SliceHeader h = RawWorker::all_reduce(0, 4096);
  GetParam().change(h);
  s[1].send(h);
  for (auto& w : s.w) {
    Frame f = w->expect_abort();
    EXPECT_EQ(f.code(), AbortCode::kProtocol);
    EXPECT_EQ(f.about(), 1u);
    EXPECT_TRUE(has(f.text(), "rank 1") && has(f.text(), GetParam().text)) << f.text();
    w->expect_closed();
  }
}

const Impossible kImpossible[] = {
    {"FrameType", [](wire::SliceHeader& h) { h.type = static_cast<wire::FrameType>(77); },
     "unknown frame, type 77"},
    {"ResultFrame", [](wire::SliceHeader& h) { h.type = wire::FrameType::kResult; }, "unknown frame, type 2"},
    {"Collective", [](wire::SliceHeader& h) { h.coll = static_cast<Coll>(3); }, "collective 3"},
    {"Type", [](wire::SliceHeader& h) { h.dtype = static_cast<DType>(12); }, "element type 12"},
    {"Operator", [](wire::SliceHeader& h) { h.op = static_cast<RedOp>(4); }, "operator 4"},
    {"NoMessage", [](wire::SliceHeader& h) { h.message_bytes = 0; }, "message size 0"},
    {"HugeMessage", [](wire::SliceHeader& h) { h.message_bytes = h.length = UINT64_MAX; }, "message size"},
    {"NoLength", [](wire::SliceHeader& h) { h.length = 0; }, "outside its message"},
    {"Overlong", [](wire::SliceHeader& h) { h.length = 4100; }, "outside its message of 4096 bytes"},
    {"OffsetWraps", [](wire::SliceHeader& h) { h.offset = UINT64_MAX - 3; }, "outside its message"},
    {"CutsElements", [](wire::SliceHeader& h) { h.length = 4095; }, "cuts elements of 4 bytes"},
    {"Misaligned",
     [](wire::SliceHeader& h) {
       h.offset = 2;
       h.length = 4;
     },
     "cuts elements of 4 bytes"},
    {"Reserved", [](wire::SliceHeader& h) { h.reserved = 1; }, "reserved"},
    {"Text", [](wire::SliceHeader& h) { h.text_bytes = 1; }, "text length"},
    {"AllReduceWithRankBytes", [](wire::SliceHeader& h) { h.bytes_per_rank = 4; }, "bytes per rank"},
    {"GatherWithoutRankBytes", [](wire::SliceHeader& h) { h.coll = Coll::kAllGather; }, "bytes per rank 0"},
    {"GatherHugeRankBytes",
     [](wire::SliceHeader& h) {
       h.coll = Coll::kAllGather;
       h.bytes_per_rank = UINT64_MAX;
     },
     "bytes per rank"},
    {"WindowOutside",
     [](wire::SliceHeader& h) {
       h.coll = Coll::kReduceScatter;
       h.bytes_per_rank = 2048;
       h.window_offset = 4;
     },
     "outside the 4096 bytes of all ranks"},
    {"WindowWraps",
     [](wire::SliceHeader& h) {
       h.coll = Coll::kReduceScatter;
       h.bytes_per_rank = 4096;
       h.window_offset = UINT64_MAX - 100;
     },
     "outside the 8192 bytes of all ranks"},
    {"EndlessAbortText",
     [](wire::SliceHeader& h) {
       h.type = wire::FrameType::kAbort;
       h.text_bytes = wire::kMaxText + 1;
     },
     "endless text"},
};
INSTANTIATE_TEST_SUITE_P(All, ReducerImpossible, testing::ValuesIn(kImpossible),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_F(ReducerFaults, MessagesOutOfOrder) {
  Session s(*reducer_, 2);
  send_message(s[0], RawWorker::all_reduce(5, 4));
  send_message(s[0], RawWorker::all_reduce(4, 4));
  EXPECT_TRUE(has(s[1].expect_abort().text(), "rank 0 sent message 4 after message 5"));
}

TEST_F(ReducerFaults, GarbageAfterTheHandshake) {
  Session s(*reducer_, 2);
  Bytes garbage(100000, std::byte{0xee});
  s[0].send(garbage);
  EXPECT_EQ(s[1].expect_abort().code(), AbortCode::kProtocol);
  EXPECT_EQ(s[0].expect_abort().code(), AbortCode::kProtocol);
}

TEST_F(ReducerFaults, OverrunWindow) {
  Session s(*reducer_, 2);  // four blocks
  send_message(s[0], RawWorker::all_reduce(0, 4 * 4096));
  ASSERT_TRUE(eventually([&] { return reducer_->stats().bytes_in == 4 * 4096; }));
  s[0].send(RawWorker::all_reduce(1, 4096));  // a header alone is no overrun
  send_message(s[1], RawWorker::all_reduce(0, 4096 * 4));
  for (int i = 0; i < 4; ++i) ASSERT_EQ(s[1].next()->head.type, wire::FrameType::kResult);
  for (int i = 0; i < 4; ++i) ASSERT_EQ(s[0].next()->head.type, wire::FrameType::kResult);
  s[0].send(kPayload.data(), 4096);
  send_message(s[0], RawWorker::all_reduce(2, 3 * 4096));
  send_message(s[0], RawWorker::all_reduce(3, 4));
  for (auto& w : s.w) {
    Frame f = w->expect_abort();
    EXPECT_EQ(f.code(), AbortCode::kProtocol);
    EXPECT_EQ(f.about(), 0u);
    EXPECT_TRUE(has(f.text(), "overran its window of 4 blocks")) << f.text();
  }
}

TEST_F(ReducerFaults, OverrunWithSmallMessages) {
  Session s(*reducer_, 2);
  for (uint64_t m = 0; m < 5; ++m) send_message(s[0], RawWorker::all_reduce(m, 4));
  EXPECT_TRUE(has(s[1].expect_abort().text(), "overran its window of 4 blocks"));
}

TEST_F(ReducerFaults, WorkersAbortIsPassedOn) {
  Session s(*reducer_, 3);
  wire::SliceHeader h{};
  h.type = wire::FrameType::kAbort;
  h.message = static_cast<uint64_t>(AbortCode::kInternal);
  std::string text = "out of\ncheese";
  h.text_bytes = static_cast<uint32_t>(text.size());
  s[2].send(h);
  s[2].send(text.data(), text.size());
  for (size_t r : {0, 1}) {
    Frame f = s[r].expect_abort();
    EXPECT_EQ(f.code(), AbortCode::kInternal);
    EXPECT_EQ(f.about(), 2u);
    EXPECT_TRUE(has(f.text(), "gave up: out of?cheese")) << f.text();
  }
}

TEST_F(ReducerFaults, GoodbyeWithNothingOutstandingDisturbsNobody) {
  Session s(*reducer_, 2);
  send_message(s[0], RawWorker::all_reduce(0, 4));
  send_message(s[1], RawWorker::all_reduce(0, 4));
  ASSERT_TRUE(s[0].next());
  s[0].send(RawWorker::goodbye());
  s[0].expect_closed();
  ASSERT_TRUE(s[1].next());
  s[1].send(RawWorker::goodbye());
  EXPECT_FALSE(s[1].next());
  EXPECT_EQ(reducer_->stats().aborted, 0u);
}

TEST_F(ReducerFaults, GoodbyeAfterDeliveringLetsTheOthersFinish) {
  Session s(*reducer_, 3);
  send_message(s[2], RawWorker::all_reduce(0, 8192));
  s[2].send(RawWorker::goodbye());
  s[2].expect_closed();
  for (size_t r : {0, 1}) send_message(s[r], RawWorker::all_reduce(0, 8192));
  for (size_t r : {0, 1})
    for (int i = 0; i < 2; ++i) ASSERT_EQ(s[r].next()->head.type, wire::FrameType::kResult);
  // The next message cannot be finished any more, and says so at once.
  send_message(s[1], RawWorker::all_reduce(1, 4));
  for (size_t r : {0, 1}) {
    Frame f = s[r].expect_abort();
    EXPECT_EQ(f.code(), AbortCode::kRankLeft);
    EXPECT_EQ(f.about(), 2u);
    EXPECT_TRUE(has(f.text(), "rank 2 left the session before message 1")) << f.text();
  }
}

TEST_F(ReducerFaults, GoodbyeOwingAMessage) {
  Session s(*reducer_, 3);
  send_message(s[0], RawWorker::all_reduce(3, 4));
  ASSERT_TRUE(eventually([&] { return reducer_->stats().bytes_in == 4; }));
  s[1].send(RawWorker::goodbye());
  for (size_t r : {0, 2}) {
    Frame f = s[r].expect_abort();
    EXPECT_EQ(f.code(), AbortCode::kRankLeft);
    EXPECT_EQ(f.about(), 1u);
    EXPECT_TRUE(has(f.text(), "rank 1 left the session before message 3")) << f.text();
  }
}

TEST_F(ReducerFaults, ADepartedRankCannotComeBack) {
  Session s(*reducer_, 2);
  s[1].send(RawWorker::goodbye());
  s[1].expect_closed();
  RawWorker again(reducer_->address());
  ASSERT_TRUE(eventually([&] { return reducer_->stats().connections_open == 1; }));
  EXPECT_EQ(again.greet(RawWorker::hello(RawWorker::session(1), 1, 2)).refusal, wire::Refusal::kDuplicate);
  EXPECT_TRUE(has(again.refusal(), "has already left lane 0")) << again.refusal();
}

TEST_F(ReducerFaults, StopAbortsWithShutdown) {
  auto doomed = start_reducer(reducer_config());
  Session s(*doomed, 2);
  send_message(s[0], RawWorker::all_reduce(0, 4));
  doomed.reset();
  for (auto& w : s.w) {
    Frame f = w->expect_abort();
    EXPECT_EQ(f.code(), AbortCode::kShutdown);
    EXPECT_EQ(f.about(), wire::kNoRank);
  }
}

// Rank 1 of 2 owns nothing of an all-gather slice of eight blocks and a window of four: its stream stands still
// before block 4, where nothing is expected from it, and nothing is written to it.
struct StandingStill {
  explicit StandingStill(const Reducer& reducer) : s(reducer, 2) {
    slice = RawWorker::all_reduce(0, 8 * 4096);
    slice.coll = Coll::kAllGather;
    slice.bytes_per_rank = slice.message_bytes;
    s[1].send(slice);
  }
  wire::SliceHeader next_slice() const {
    wire::SliceHeader h = slice;
    h.message = 1;
    return h;
  }
  Session s;
  wire::SliceHeader slice{};
};

TEST_F(ReducerFaults, RankLostWhileItsWindowIsFullOfNothing) {
  for (bool reset : {false, true}) {
    StandingStill t(*reducer_);
    t.s[1].send(t.next_slice());
    reset ? t.s[1].reset() : t.s[1].shut();
    Frame f = t.s[0].expect_abort();
    EXPECT_EQ(f.code(), AbortCode::kRankLost);
    EXPECT_EQ(f.about(), 1u);
    t.s[0].shut();
    ASSERT_TRUE(eventually([&] { return reducer_->stats().connections_open == 0; }));
    if (!reset) reducer_ = start_reducer(reducer_config());  // the session's id was used
  }
}

TEST_F(ReducerFaults, RankLostAmidAHeaderWhileItsWindowIsFullOfNothing) {
  StandingStill t(*reducer_);
  wire::SliceHeader h = t.next_slice();
  t.s[1].send(&h, sizeof h - 1);
  t.s[1].shut();
  EXPECT_EQ(t.s[0].expect_abort().code(), AbortCode::kRankLost);
}

TEST_F(ReducerFaults, AbortWhileTheWindowIsFullOfNothing) {
  StandingStill t(*reducer_);
  t.s[1].send(t.next_slice());
  wire::SliceHeader h{};
  h.type = wire::FrameType::kAbort;
  h.message = static_cast<uint64_t>(AbortCode::kInternal);
  h.text_bytes = 5;
  t.s[1].send(h);
  t.s[1].send("worse", 5);
  t.s[1].shut();
  Frame f = t.s[0].expect_abort();
  EXPECT_EQ(f.code(), AbortCode::kInternal);
  EXPECT_TRUE(has(f.text(), "gave up: worse")) << f.text();
}

// It owes nothing more, so the other finishes both messages; several times, as its end is seen by a read or by a write.
TEST_F(ReducerFaults, GoodbyeWhileTheWindowIsFullOfNothing) {
  for (int i = 0; i < 20; ++i) {
    StandingStill t(*reducer_);
    t.s[1].send(t.next_slice());
    t.s[1].send(RawWorker::goodbye());
    t.s[1].shut();
    std::vector<Bytes> blocks;
    t.s[0].append(&blocks, t.slice, kPayload.data());
    t.s[0].append(&blocks, t.next_slice(), kPayload.data());
    EXPECT_EQ(t.s[0].exchange(blocks).size(), 16u);
    t.s[0].send(RawWorker::goodbye());
    t.s[0].expect_closed();
    ASSERT_TRUE(eventually([&] { return reducer_->stats().connections_open == 0; }));
  }
  EXPECT_EQ(reducer_->stats().aborted, 0u);
}

// Tells of a stall after 60 ms.
class ReducerStall : public ReducerFaults {
 protected:
  ReducerStall() {
    ReducerConfig c = reducer_config();
    c.stall = std::chrono::milliseconds(60);
    c.log = [this](std::string_view line) {
      std::lock_guard lock(mutex_);
      lines_.emplace_back(line);
    };
    reducer_ = start_reducer(c);
  }
  ~ReducerStall() override { reducer_.reset(); }  // before what its log writes to
  size_t lines_with(const std::string& part) {
    std::lock_guard lock(mutex_);
    return static_cast<size_t>(
        std::count_if(lines_.begin(), lines_.end(), [&](auto& l) { return has(l, part); }));
  }
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

TEST_F(ReducerStall, LogNamesWhoIsWaitedForWithBackOff) {
  Session s(*reducer_, 3);
  const std::string late =
      "for rank 1 (" + tcp::local_address(s[1].fd())->text() + ") in message 7, on lane 0";
  const auto begin = std::chrono::steady_clock::now();
  for (size_t r : {0, 2}) send_message(s[r], RawWorker::all_reduce(7, 4));
  // Doubling: far fewer lines than looks at the clock.
  ASSERT_TRUE(eventually([&] { return lines_with(late) >= 4; }));
  const size_t lines = lines_with(late);
  const auto waited = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(waited, std::chrono::milliseconds(60 << (lines - 1)));
  send_message(s[1], RawWorker::all_reduce(7, 4));
  for (auto& w : s.w)
    while (w->next()->head.type != wire::FrameType::kResult) {
    }
  for (auto& w : s.w) w->send(RawWorker::goodbye());
}

TEST_F(ReducerStall, RanksThatWaitAreToldAndTheLateOneIsNot) {
  Session s(*reducer_, 3);
  const std::string late = "rank 1 (" + tcp::local_address(s[1].fd())->text() + ") in message 7";
  for (size_t r : {0, 2}) send_message(s[r], RawWorker::all_reduce(7, 4));
  for (size_t r : {0, 2}) {
    uint64_t before = 0;
    for (int i = 0; i < 2; ++i) {
      std::optional<Frame> f = s[r].next();
      ASSERT_TRUE(f);
      EXPECT_EQ(f->head.type, wire::FrameType::kWaiting);
      EXPECT_EQ(f->head.message, 7u);
      EXPECT_EQ(f->text(), late);
      EXPECT_GE(f->head.offset, before + 60);  // milliseconds
      before = f->head.offset;
    }
  }
  send_message(s[1], RawWorker::all_reduce(7, 4));
  EXPECT_EQ(s[1].next()->head.type, wire::FrameType::kResult);
  for (size_t r : {0, 2}) {
    std::optional<Frame> f;
    do f = s[r].next();
    while (f && f->head.type == wire::FrameType::kWaiting);
    ASSERT_TRUE(f);
    EXPECT_EQ(f->head.type, wire::FrameType::kResult);
    EXPECT_EQ(f->payload.size(), 4u);
  }
  for (auto& w : s.w) w->send(RawWorker::goodbye());
}

// A rank that does not read for a long time, on a host that answers, is not given up (as TCP_USER_TIMEOUT would).
TEST_F(ReducerStall, ARankThatDoesNotReadIsNotAVanishedHost) {
  ReducerConfig c = reducer_config();
  c.timeout = std::chrono::milliseconds(0);
  c.stall = std::chrono::milliseconds(60);
  c.keepalive = std::chrono::milliseconds(300);
  auto patient = start_reducer(c);
  Session s(*patient, 2, 1, 48 << 20);
  wire::SliceHeader h = RawWorker::all_reduce(0, 32 << 20);
  Bytes payload(h.length);
  for (auto& w : s.w) {
    w->send(h);
    w->send(payload);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // deaf
  for (auto& w : s.w)
    for (uint64_t at = 0; at < h.length;) {
      std::optional<Frame> f = w->next();
      ASSERT_TRUE(f);
      if (f->head.type == wire::FrameType::kWaiting) continue;
      ASSERT_EQ(f->head.type, wire::FrameType::kResult) << f->text();
      at += f->payload.size();
    }
  EXPECT_EQ(patient->stats().aborted, 0u);
}

TEST_F(ReducerStall, OneLineForAllLanes) {
  ReducerConfig c = reducer_config(4);
  c.stall = std::chrono::milliseconds(400);
  c.log = [this](std::string_view line) {
    std::lock_guard lock(mutex_);
    lines_.emplace_back(line);
  };
  auto four = start_reducer(c);
  std::vector<std::unique_ptr<RawWorker>> ranks;
  for (uint32_t lane = 0; lane < 4; ++lane) {
    ranks.push_back(std::make_unique<RawWorker>(four->address()));
    ranks.back()->join(RawWorker::hello(RawWorker::session(9), 1, 2, lane));
    send_message(*ranks.back(), RawWorker::all_reduce(0, 4));
  }
  ASSERT_TRUE(eventually([&] { return lines_with("for rank 0 (not connected) in message 0") >= 2; }));
  EXPECT_EQ(lines_with("has been waiting"), 2u);
}

class ReducerTimeouts : public ReducerFaults {
 protected:
  ReducerTimeouts() {
    ReducerConfig c = reducer_config();
    c.timeout = std::chrono::milliseconds(200);
    reducer_ = start_reducer(c);
  }
};

TEST_F(ReducerTimeouts, SilentRank) {
  Session s(*reducer_, 2);
  send_message(s[1], RawWorker::all_reduce(0, 4));
  for (auto& w : s.w) {
    Frame f = w->expect_abort();
    EXPECT_EQ(f.code(), AbortCode::kTimeout);
    EXPECT_EQ(f.about(), 0u);
    EXPECT_TRUE(has(f.text(), "was silent for 200 ms while other ranks wait for it in message 0"))
        << f.text();
  }
}

TEST_F(ReducerTimeouts, RankThatNeverJoins) {
  RawWorker a(reducer_->address());
  a.join(RawWorker::hello(RawWorker::session(1), 1, 2));
  send_message(a, RawWorker::all_reduce(0, 4));
  Frame f = a.expect_abort();
  EXPECT_EQ(f.code(), AbortCode::kTimeout);
  EXPECT_TRUE(has(f.text(), "rank 0 has not joined for 200 ms")) << f.text();
}

// Nobody has sent anything: no rank waits for another's data, only for the session to be complete.
TEST(ReducerJoinTimeout, RanksThatNeverComeAreNamedToThoseThatDid) {
  ReducerConfig c = reducer_config(2);
  c.join_timeout = std::chrono::milliseconds(1500);
  auto reducer = start_reducer(c);
  std::vector<std::unique_ptr<RawWorker>> whole, some;
  for (uint32_t r = 0; r < 2; ++r) {
    whole.push_back(std::make_unique<RawWorker>(reducer->address()));
    whole.back()->join(RawWorker::hello(RawWorker::session(1), r, 2));
  }
  // A rank that has come and gone is not one that never came.
  RawWorker brief(reducer->address()), after(reducer->address());
  brief.join(RawWorker::hello(RawWorker::session(2), 0, 2));
  after.join(RawWorker::hello(RawWorker::session(2), 1, 2));
  brief.send(RawWorker::goodbye());
  for (uint32_t r : {0u, 2u}) {
    some.push_back(std::make_unique<RawWorker>(reducer->address()));
    some.back()->join(RawWorker::hello(RawWorker::session(3), r, 4));
  }
  for (auto& w : some) {
    Frame f = w->expect_abort();
    EXPECT_EQ(f.code(), AbortCode::kTimeout);
    EXPECT_EQ(f.about(), 1u);
    EXPECT_TRUE(has(
        f.text(), "rank 1, rank 3 of 4 have not joined for 1500 ms (--join-timeout-ms); rank 0 (127.0.0.1:"))
        << f.text();
    w->shut();
  }
  // Whoever comes now learns why.
  RawWorker late(reducer->address());
  EXPECT_EQ(late.greet(RawWorker::hello(RawWorker::session(3), 1, 4)).refusal, wire::Refusal::kBroken);
  EXPECT_TRUE(has(late.refusal(), "have not joined")) << late.refusal();
  // The complete ones have been there for longer, and live.
  for (auto& w : whole) send_message(*w, RawWorker::all_reduce(0, 4));
  for (auto& w : whole) EXPECT_EQ(w->next()->head.type, wire::FrameType::kResult);
  after.send(RawWorker::goodbye());
  after.expect_closed();
}

TEST_F(ReducerTimeouts, IdleSessionsHaveNone) {
  Session idle(*reducer_, 2, 2);
  {
    Session s(*reducer_, 2, 3);
    send_message(s[1], RawWorker::all_reduce(0, 4));
    EXPECT_EQ(s[1].expect_abort().code(),
              AbortCode::kTimeout);  // by now the idle one has been silent as long
  }
  for (auto& w : idle.w) send_message(*w, RawWorker::all_reduce(0, 4));
  for (auto& w : idle.w) EXPECT_EQ(w->next()->head.type, wire::FrameType::kResult);
}

TEST_F(ReducerTimeouts, RankThatTakesNoResults) {
  // A window and result far larger than the socket buffers; rank 0 never reads.
  Session s(*reducer_, 2, 1, 48 << 20);
  wire::SliceHeader h = RawWorker::all_reduce(0, 32 << 20);
  Bytes payload(h.length);
  std::vector<std::thread> senders;
  for (auto& w : s.w)
    senders.emplace_back([&, worker = w.get()] {
      worker->send(h);
      worker->send(payload);
    });
  Frame f = s[1].expect_abort();  // reads all the while
  for (auto& t : senders) t.join();
  EXPECT_EQ(f.code(), AbortCode::kTimeout);
  EXPECT_EQ(f.about(), 0u);
  EXPECT_TRUE(has(f.text(), "has not taken its results for 200 ms")) << f.text();
}

TEST_F(ReducerFaults, SlowReaderDelaysNoOtherSession) {
  Session s(*reducer_, 2, 1, 48 << 20);
  wire::SliceHeader h = RawWorker::all_reduce(0, 32 << 20);
  Bytes payload(h.length);
  for (auto& w : s.w) {
    w->send(h);
    w->send(payload);
  }
  // Both are deaf now, 64 MiB of results wait for them.
  test::run_session(reducer_->address(), 2, 3, 1, 1 << 16,
                    {{Coll::kAllReduce, 1 << 20}, {Coll::kAllReduce, 4}});
  // And when they read at last, everything is there.
  for (auto& w : s.w)
    for (uint64_t at = 0; at < h.length; at += 4096) {
      std::optional<Frame> f = w->next();
      ASSERT_TRUE(f);
      ASSERT_EQ(f->head.offset, at);
      ASSERT_EQ(f->payload.size(), 4096u);
    }
}

TEST_F(ReducerFaults, AbortReachesARankInTheMiddleOfAResult) {
  Session s(*reducer_, 2, 1, 48 << 20);
  wire::SliceHeader h = RawWorker::all_reduce(0, 32 << 20);
  Bytes payload(h.length);
  for (auto& w : s.w) {
    w->send(h);
    w->send(payload);
  }
  s[1].shut();
  Frame f = s[0].expect_abort();  // after whole results only
  EXPECT_EQ(f.code(), AbortCode::kRankLost);
  EXPECT_EQ(f.about(), 1u);
}

// The last rank leaves in the very turn in which the lane looks at its clocks: the session is gone by then, and nothing of it
// may be looked at. What was told of it afterwards shows that it was; AddressSanitizer sees the access.
TEST(ReducerClocks, LookAtNoSessionThatEndedInTheSameTurn) {
  std::mutex mutex;
  std::vector<std::string> lines;
  ReducerConfig c = reducer_config();
  c.stall = std::chrono::milliseconds(1);
  c.timeout = std::chrono::milliseconds(40);  // looks every 5 ms
  c.log = [&](std::string_view line) {
    std::lock_guard lock(mutex);
    lines.emplace_back(line);
  };
  auto reducer = start_reducer(c);
  for (int i = 0; i < 300; ++i) {
    std::vector<std::unique_ptr<RawWorker>> alone;
    for (uint8_t k = 0; k < 4; ++k) {
      alone.push_back(std::make_unique<RawWorker>(reducer->address()));
      wire::SessionId id = RawWorker::session(k);
      id[0] = static_cast<uint8_t>(i), id[1] = static_cast<uint8_t>(i >> 8);
      alone.back()->join(RawWorker::hello(id, 0, 2));
      const int one = 1;  // goodbye is not to wait for an acknowledgement
      ::setsockopt(alone.back()->fd(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
      send_message(*alone.back(), RawWorker::all_reduce(0, 64));
    }
    // Any moment of the 5 ms, by turns.
    const auto until = Deadline::Clock::now() + std::chrono::microseconds(1000 + (i * 613) % 5000);
    while (Deadline::Clock::now() < until) {
    }
    for (auto& w : alone) w->send(RawWorker::goodbye());
  }
  EXPECT_TRUE(eventually([&] { return reducer->stats().sessions_open == 0; }));
  reducer.reset();
  std::set<std::string> ended;
  for (const std::string& line : lines) {
    const std::string name = line.substr(0, line.find(' ', 8));  // "session 01020304"
    if (has(line, " ended")) ended.insert(name);
    EXPECT_FALSE(has(line, " has been waiting") && ended.contains(name)) << line;
  }
  EXPECT_EQ(ended.size(), 1200u);
}

}  // namespace
}  // namespace fanin
