// Strangers and hostile clients at a reducer that is busy: each costs bounded time and memory, is counted, is told of once,
// and changes nothing for the session that runs beside it, whose every result is checked.
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>

#include "reducer/log_limiter.h"
#include "reducer/peer_key.h"
#include "tests/support/question.h"
#include "tests/support/reducer_fixture.h"
#include "tests/support/soon.h"

namespace fanin {
namespace {

using reducer::GuestEnd;
using std::chrono::milliseconds;
using test::eventually;
using test::has;
using test::RawWorker;
using test::start_reducer;
using wire::Refusal;

// Longer than any thread of the live session may be kept from running.
constexpr milliseconds kShort{1500};

// A session of two ranks that are in before anything happens.
class Pair {
 public:
  explicit Pair(const tcp::Address& reducer) : ranks_{RawWorker(reducer), RawWorker(reducer)} {
    for (uint32_t r = 0; r < 2; ++r) ranks_[r].join(RawWorker::hello(RawWorker::session(1), r, 2));
  }
  // One message, every byte of its results checked.
  void exchange() {
    const std::vector<float> ones(1000, 1), twos(1000, 2);
    std::vector<std::thread> threads;
    for (RawWorker& w : ranks_)
      threads.emplace_back([&] {
        std::vector<test::Bytes> blocks;
        w.append(&blocks, RawWorker::all_reduce(message_, 4000),
                 reinterpret_cast<const std::byte*>(ones.data()));
        const std::vector<test::Frame> got = w.exchange(blocks);
        ASSERT_EQ(got.size(), 1u);
        EXPECT_EQ(memcmp(got[0].payload.data(), twos.data(), 4000), 0);
      });
    for (auto& t : threads) t.join();
    ++message_;
  }

 private:
  RawWorker ranks_[2];
  uint64_t message_ = 0;
};

class Strangers : public testing::Test {
 protected:
  ReducerConfig config() {
    ReducerConfig c = test::reducer_config(2, 64 << 10);
    c.handshake_timeout = milliseconds(60000);
    c.log = [this](std::string_view line) {
      std::lock_guard lock(mutex_);
      lines_.emplace_back(line);
    };
    return c;
  }
  void start(const ReducerConfig& c) {
    reducer_ = start_reducer(c);
    // A session that runs, with every byte of its results checked, until the test is over.
    live_ = std::thread([this] {
      uint8_t tag = 100;  // the tests' own sessions have smaller ones
      do {
        test::run_session(reducer_->address(), tag++, 2, 2, 1 << 20,
                          {{Coll::kAllReduce, 700000}, {Coll::kAllReduce, 40}, {Coll::kAllReduce, 300000}});
        ++rounds_;
        if (tag == 200) tag = 100;
      } while (!stop_.load());
    });
  }
  void TearDown() override {
    const int before = rounds_.load();
    EXPECT_TRUE(eventually([&] { return rounds_.load() > before + 1; })) << "the live session stands still";
    stop_ = true;
    if (live_.joinable()) live_.join();
    EXPECT_TRUE(eventually([&] { return reducer_->stats().connections_open == 0; }));
    EXPECT_EQ(reducer_->stats().memory_used, 0u);
    EXPECT_TRUE(eventually([&] { return reducer_->stats().guests.waiting == 0; }));
  }
  size_t lines_with(const std::string& part) {
    std::lock_guard lock(mutex_);
    return static_cast<size_t>(
        std::count_if(lines_.begin(), lines_.end(), [&](auto& l) { return has(l, part); }));
  }
  uint64_t ended(GuestEnd e) const { return reducer_->stats().guests[e]; }
  uint64_t aborted(wire::AbortCode code) const {
    return reducer_->stats().sessions_aborted[static_cast<size_t>(code)];
  }
  uint64_t all_aborted() const {
    const auto by_code = reducer_->stats().sessions_aborted;
    return std::accumulate(by_code.begin(), by_code.end(), uint64_t{0});
  }
  std::unique_ptr<RawWorker> visitor() { return std::make_unique<RawWorker>(reducer_->address()); }

  std::mutex mutex_;
  std::vector<std::string> lines_;
  std::unique_ptr<Reducer> reducer_;
  std::thread live_;
  std::atomic<bool> stop_{false};
  std::atomic<int> rounds_{0};
};

TEST_F(Strangers, OtherProtocols) {
  start(config());
  const std::string words[] = {
      "GET /metrics HTTP/1.1\r\nHost: reducer\r\n\r\n",
      std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11),  // TLS
      "SSH-2.0-OpenSSH_9.2\r\n",
      std::string("\x00\x00\x00\x2f\xff\x53\x4d\x42", 8),  // SMB
      std::string(1 << 20, '\xff'),
      std::string("FAIN\x03\x00\xff\xff", 8),  // ours, with a Hello of 65535 bytes
      std::string("FAIN\x03\x00\x00\x00", 8),
  };
  for (int round = 0; round < 5; ++round)
    for (const std::string& w : words) {
      auto v = visitor();
      v->send(w.data(), w.size());
      v->expect_closed();
    }
  EXPECT_TRUE(eventually([&] { return ended(GuestEnd::kNotFanin) == 35; }));
  EXPECT_EQ(lines_with("does not speak fanin's protocol"), 1u);  // one address, one line a minute
}

TEST_F(Strangers, PortScanAndSilence) {
  ReducerConfig c = config();
  c.handshake_timeout = kShort;
  start(c);
  for (int i = 0; i < 200; ++i) visitor()->shut();
  for (int i = 0; i < 50; ++i) visitor()->reset();
  EXPECT_TRUE(eventually([&] { return ended(GuestEnd::kHungUp) == 250; }));
  std::vector<std::unique_ptr<RawWorker>> silent;
  for (int i = 0; i < 50; ++i) silent.push_back(visitor());
  for (auto& s : silent) s->expect_closed();
  EXPECT_TRUE(eventually([&] { return ended(GuestEnd::kSilent) == 50; }));
  EXPECT_EQ(lines_with("went away without a word"), 1u);
  EXPECT_EQ(lines_with("did not introduce itself in time"), 1u);
}

// The deadline is for the whole handshake: bytes that trickle do not move it.
TEST_F(Strangers, OneByteAtATime) {
  ReducerConfig c = config();
  c.handshake_timeout = kShort;
  start(c);
  auto v = visitor();
  const wire::Hello h = RawWorker::hello(RawWorker::session(1), 0, 2);
  const auto began = Deadline::Clock::now();
  size_t sent = 0;
  pollfd end{v->fd(), POLLIN, 0};
  while (::poll(&end, 1, 50) == 0 && sent < sizeof h) v->send(reinterpret_cast<const char*>(&h) + sent++, 1);
  EXPECT_LT(sent, sizeof h);
  v->expect_closed();
  EXPECT_LT(Deadline::Clock::now() - began, test::kSoon);
  EXPECT_TRUE(eventually([&] { return ended(GuestEnd::kSilent) == 1; }));
}

TEST_F(Strangers, EveryFieldOfHelloOutOfRange) {
  start(config());
  struct {
    size_t offset;
    Refusal refusal;
  } const fields[] = {{offsetof(wire::Hello, rank), Refusal::kMalformed},
                      {offsetof(wire::Hello, nranks), Refusal::kMalformed},
                      {offsetof(wire::Hello, lane), Refusal::kMalformed},
                      {offsetof(wire::Hello, window_bytes), Refusal::kMalformed},
                      {offsetof(wire::Hello, window_bytes) + 4, Refusal::kMalformed},
                      {offsetof(wire::Hello, key), Refusal::kAuth}};
  uint64_t n = 0;
  for (int round = 0; round < 3; ++round)
    for (auto& f : fields) {
      wire::Hello h = RawWorker::hello(RawWorker::session(1), 0, 2);
      const uint32_t huge = 0xffffffff;
      memcpy(reinterpret_cast<char*>(&h) + f.offset, &huge, sizeof huge);
      if (f.offset == offsetof(wire::Hello, window_bytes)) memset(&h.window_bytes, 0xff, 8);
      auto v = visitor();
      EXPECT_EQ(v->greet(h).refusal, f.refusal) << "offset " << f.offset;
      v->expect_closed();
      EXPECT_EQ(reducer_->stats().refused, ++n);
    }
  EXPECT_EQ(reducer_->stats().guests[Refusal::kMalformed], 15u);
  EXPECT_EQ(reducer_->stats().guests[Refusal::kAuth], 3u);
  EXPECT_EQ(lines_with("refused rank"), 2u);  // one for each reason
}

// In a session of its own, a client that is admitted can end that session only.
TEST_F(Strangers, EveryFieldOfASliceOutOfRange) {
  start(config());
  uint64_t sent = 0;
  for (size_t offset = 0; offset < sizeof(wire::SliceHeader); offset += 8) {
    if (offset == offsetof(wire::SliceHeader, message)) continue;  // any number may be the first
    auto v = visitor();
    v->join(RawWorker::hello(RawWorker::session(static_cast<uint8_t>(offset)), 0, 2));
    wire::SliceHeader h = RawWorker::all_reduce(0, 4096);
    memset(reinterpret_cast<char*>(&h) + offset, 0xff, 8);  // lengths of exabytes among them
    v->send(h);
    EXPECT_EQ(v->expect_abort().code(), wire::AbortCode::kProtocol) << "offset " << offset;
    v->expect_closed();
    ++sent;
    EXPECT_EQ(aborted(wire::AbortCode::kProtocol), sent) << "offset " << offset;
    EXPECT_EQ(lines_with(" aborted on lane "), sent) << "offset " << offset;
    EXPECT_EQ(lines_with(" aborted on lane 0: rank 0 "), sent) << "offset " << offset;
  }
  EXPECT_EQ(all_aborted(), sent);
}

TEST_F(Strangers, DuplicatesOfALiveRank) {
  start(config());
  Pair pair(reducer_->address());
  pair.exchange();
  for (int i = 0; i < 100; ++i) {
    auto v = visitor();
    EXPECT_EQ(v->greet(RawWorker::hello(RawWorker::session(1), i % 2, 2)).refusal, Refusal::kDuplicate);
  }
  pair.exchange();
  EXPECT_EQ(reducer_->stats().guests[Refusal::kDuplicate], 100u);
  EXPECT_EQ(lines_with("is already connected"), 1u);
}

// Valid in every byte, but it takes no results: its own session ends, its memory was bounded all the time.
TEST_F(Strangers, AClientThatStopsReading) {
  ReducerConfig c = config();
  c.timeout = milliseconds(2000);
  start(c);
  RawWorker deaf(reducer_->address()), victim(reducer_->address());
  const uint64_t window = 1 << 20;
  const int small = 4096;
  setsockopt(deaf.fd(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  const uint32_t blocks = deaf.join(RawWorker::hello(RawWorker::session(1), 0, 2, 0, window)).window_blocks;
  victim.join(RawWorker::hello(RawWorker::session(1), 1, 2, 0, window));
  const wire::SliceHeader message = RawWorker::all_reduce(0, uint64_t{blocks} * (64 << 10));
  std::vector<std::byte> payload(message.length);
  std::vector<test::Bytes> out;
  victim.append(&out, message, payload.data());
  std::thread talks([&] {  // all that its window lets it
    deaf.send(message);
    deaf.send(payload);
  });
  EXPECT_EQ(victim.exchange(out).size(), blocks);
  talks.join();
  victim.send(RawWorker::all_reduce(1, 4));
  victim.send(payload.data(), 4);
  const auto began = Deadline::Clock::now();
  test::Frame f = victim.expect_abort();
  EXPECT_EQ(f.code(), wire::AbortCode::kTimeout);
  EXPECT_LT(Deadline::Clock::now() - began, test::kSoon);
  EXPECT_EQ(f.about(), 0u) << f.text();
  EXPECT_EQ(aborted(wire::AbortCode::kTimeout), 1u);
  EXPECT_EQ(all_aborted(), 1u);
  EXPECT_EQ(lines_with(" aborted on lane "), 1u);
  EXPECT_EQ(lines_with(" aborted on lane 0: rank 0 ("), 1u);
  EXPECT_EQ(lines_with(" for 2000 ms"), 1u);  // it was silent, or has not taken its results
  EXPECT_LE(reducer_->stats().memory_used, 2u * 2 * 3 * window);  // of this session and of the live one
}

// The oldest one of them may well be a worker's that is slow, so no handshake of a worker is in progress meanwhile.
class TooMany : public testing::TestWithParam<bool> {};

TEST_P(TooMany, UnfinishedHandshakesMakeRoom) {
  const bool per_address = GetParam();
  ReducerConfig c = test::reducer_config(2, 64 << 10);
  (per_address ? c.max_half_open_per_address : c.max_half_open) = 8;
  c.handshake_timeout = milliseconds(60000);
  std::mutex mutex;
  std::string log;
  c.log = [&](std::string_view line) {
    std::lock_guard lock(mutex);
    log.append(line).append("\n");
  };
  auto reducer = start_reducer(c);
  Pair pair(reducer->address());
  pair.exchange();
  std::vector<std::unique_ptr<RawWorker>> silent;
  for (int i = 0; i < 40; ++i) {
    silent.push_back(std::make_unique<RawWorker>(reducer->address()));
    silent.back()->send("F", 1);
    EXPECT_LE(reducer->stats().guests.waiting, 8u);
  }
  silent.front()->expect_closed();  // the oldest went first
  EXPECT_TRUE(eventually([&] { return reducer->stats().guests[GuestEnd::kCrowdedOut] == 32; }));
  pair.exchange();
  RawWorker worker(reducer->address());  // and a worker still gets in
  worker.join(RawWorker::hello(RawWorker::session(2), 0, 2));
  std::lock_guard lock(mutex);
  const char* says = per_address ? "(--max-half-open-per-address)" : "(--max-half-open)";
  const size_t first = log.find(says);
  EXPECT_NE(first, std::string::npos) << log;
  EXPECT_EQ(log.find(says, first + 1), std::string::npos) << log;
}
INSTANTIATE_TEST_SUITE_P(Limits, TooMany, testing::Bool());

// Strangers without a secret can ask for figures, too, and be silent then or ask for communicators that do not exist.
struct Flood {
  bool per_address, ask;
};
class TooManyQuestions : public testing::TestWithParam<Flood> {};

TEST_P(TooManyQuestions, MakeRoomAndDisturbNobody) {
  ReducerConfig c = test::reducer_config(2, 64 << 10);
  (GetParam().per_address ? c.max_half_open_per_address : c.max_half_open) = 8;
  c.figures_patience = milliseconds(60000);
  auto reducer = start_reducer(c);
  Pair pair(reducer->address());
  auto first = test::questioner(reducer->address(), 1, 2);
  first->send(test::figures_ask());
  const auto stranger = tcp::Address::numeric("127.0.0.2", 0).value();
  std::vector<std::unique_ptr<RawWorker>> flood;
  for (uint8_t i = 0; i < 40; ++i) {
    flood.push_back(test::questioner(reducer->address(), static_cast<uint8_t>(100 + i), 4096, stranger));
    if (GetParam().ask) flood.back()->send(test::figures_ask());
  }
  const uint64_t room = GetParam().per_address ? 8 : 7;
  EXPECT_TRUE(eventually([&] { return reducer->stats().guests[GuestEnd::kCrowdedOut] == 40 - room; }));
  EXPECT_TRUE(eventually([&] { return reducer->stats().guests.waiting == room + 1; }));
  const auto none = test::told(flood.front()->fd());  // the oldest went first
  ASSERT_TRUE(none);
  EXPECT_EQ(none->agreed, 0u);
  EXPECT_EQ(reducer->stats().connections_open, 2u);
  pair.exchange();
  RawWorker(reducer->address()).join(RawWorker::hello(RawWorker::session(2), 0, 2));
  auto second = test::questioner(reducer->address(), 1, 2);
  second->send(test::figures_ask());
  for (const auto& w : {&first, &second}) {
    const auto answer = test::told((*w)->fd());
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->agreed, 1u);
  }
  EXPECT_EQ(reducer->stats().guests[GuestEnd::kAnswered], 2u);
}
INSTANTIATE_TEST_SUITE_P(Limits, TooManyQuestions,
                         testing::Values(Flood{true, false}, Flood{true, true}, Flood{false, false},
                                         Flood{false, true}));

// As many as a host of 64 ranks asks at once whose job makes four communicators.
TEST(Questions, OfAWholeHostWaitWithoutCrowding) {
  auto reducer = start_reducer(test::reducer_config());
  std::vector<std::unique_ptr<RawWorker>> ranks;
  for (uint32_t rank = 0; rank < 64; ++rank)
    for (uint8_t comm = 1; comm <= 4; ++comm) {
      ranks.push_back(test::questioner(reducer->address(), comm, 64));
      ranks.back()->send(test::figures_ask());
    }
  for (auto& r : ranks) {
    const auto answer = test::told(r->fd());
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->agreed, 1u);
  }
}

TEST(Memory, WithoutItTheOldestQuestionMakesRoom) {
  std::atomic<bool> memory{true};
  ReducerConfig c = test::reducer_config(2, 64 << 10);
  c.figures_patience = milliseconds(60000);
  c.has_memory = [&] { return memory.load(); };
  auto reducer = start_reducer(c);
  auto waits = test::questioner(reducer->address(), 1, 2);
  memory = false;
  RawWorker late(reducer->address());
  EXPECT_EQ(late.greet(RawWorker::hello(RawWorker::session(2), 0, 2)).refusal, Refusal::kNoMemory);
  const auto none = test::told(waits->fd());
  ASSERT_TRUE(none);
  EXPECT_EQ(none->agreed, 0u);
  EXPECT_EQ(reducer->stats().guests[GuestEnd::kCrowdedOut], 1u);
}

class Limits : public testing::Test {
 protected:
  ReducerConfig config_ = test::reducer_config(1, 4096);
  wire::Hello hello(uint8_t tag, uint32_t rank = 0) {
    return RawWorker::hello(RawWorker::session(tag), rank, 2, 0, 4 * 4096);  // 3 * 4 * 4096 bytes
  }
  static constexpr uint64_t kSession = 3 * 4 * 4096;
};

TEST_F(Limits, Sessions) {
  config_.max_sessions = 2;
  auto r = start_reducer(config_);
  RawWorker a(r->address()), b(r->address()), c(r->address()), a1(r->address());
  a.join(hello(1));
  b.join(hello(2));
  EXPECT_EQ(c.greet(hello(3)).refusal, Refusal::kTooMany);
  EXPECT_TRUE(has(c.refusal(), "--max-sessions")) << c.refusal();
  a1.join(hello(1, 1));  // of a session that is in
}

TEST_F(Limits, MemoryOfOneSession) {
  config_.max_session_memory = kSession;
  auto r = start_reducer(config_);
  RawWorker a(r->address()), b(r->address()), c(r->address());
  EXPECT_EQ(a.greet(RawWorker::hello(RawWorker::session(1), 0, 2, 0, 5 * 4096)).refusal, Refusal::kNoMemory);
  EXPECT_TRUE(has(a.refusal(), "of --max-session-memory ") && has(a.refusal(), "; raise it there or lower"))
      << a.refusal();
  b.join(hello(2));
  c.join(hello(3));
}

TEST_F(Limits, MemoryOfOneJob) {
  const Secret a = *Secret::make("secret-of-job-a-0123456789abcdef"),
               b = *Secret::make("secret-of-job-b-0123456789abcdef");
  config_.max_job_memory = 2 * kSession;
  config_.secrets = {{"a", a}, {"b", b}};
  auto r = start_reducer(config_);
  auto in = [&](RawWorker& w, const Secret& s, uint8_t tag) {
    EXPECT_EQ(w.greet(RawWorker::hello_with(s, hello(tag))).refusal, Refusal::kChallenge);
    return w.answer(s).refusal;
  };
  RawWorker one(r->address()), two(r->address()), three(r->address()), other(r->address()),
      again(r->address());
  EXPECT_EQ(in(one, a, 1), Refusal::kNone);
  EXPECT_EQ(in(two, a, 2), Refusal::kNone);
  EXPECT_EQ(in(three, a, 3), Refusal::kNoMemory);
  EXPECT_TRUE(has(three.refusal(), "--max-job-memory")) << three.refusal();
  EXPECT_EQ(in(other, b, 4), Refusal::kNone);
  one.send(RawWorker::goodbye());
  one.expect_closed();
  ASSERT_TRUE(eventually([&] { return r->stats().sessions_open == 2; }));
  EXPECT_EQ(in(again, a, 3), Refusal::kNone);
}

// The process has no more: those who are in go on, unfinished handshakes do not pile up, and who joins is told.
TEST(Memory, WithoutItTheOldestMakesRoomAndNobodyJoins) {
  std::atomic<bool> memory{true};
  ReducerConfig c = test::reducer_config(2, 64 << 10);
  c.handshake_timeout = milliseconds(60000);
  c.has_memory = [&] { return memory.load(); };
  auto reducer = start_reducer(c);
  Pair pair(reducer->address());
  RawWorker silent(reducer->address());
  silent.send("F", 1);
  ASSERT_TRUE(eventually([&] { return reducer->stats().guests.waiting == 1; }));
  memory = false;
  RawWorker late(reducer->address());
  EXPECT_EQ(late.greet(RawWorker::hello(RawWorker::session(2), 0, 2)).refusal, Refusal::kNoMemory);
  EXPECT_TRUE(has(late.refusal(), "ulimit -v")) << late.refusal();
  silent.expect_closed();
  EXPECT_EQ(reducer->stats().guests[GuestEnd::kCrowdedOut], 1u);
  pair.exchange();
  memory = true;
  RawWorker(reducer->address()).join(RawWorker::hello(RawWorker::session(2), 0, 2));
}

TEST_F(Limits, OnlyAllowedNetworksAreLetIn) {
  config_.allow = *tcp::NetworkList::parse("10.0.0.0/8,fd00::/8");
  auto r = start_reducer(config_);
  for (int i = 0; i < 3; ++i) RawWorker(r->address()).expect_closed();
  EXPECT_TRUE(eventually([&] { return r->stats().guests[GuestEnd::kNotAllowed] == 3; }));
  config_.allow = *tcp::NetworkList::parse("127.0.0.0/8");
  auto q = start_reducer(config_);
  RawWorker a(q->address());
  a.join(hello(1));
  EXPECT_EQ(q->stats().guests.accepted, 1u);
  EXPECT_TRUE(eventually([&] { return q->stats().guests[GuestEnd::kAdmitted] == 1; }));
}

reducer::PeerKey key_of(const std::string& address) {
  return reducer::peer_key(tcp::Address::numeric(address, 1).value());
}

TEST(PeerKey, IsAnAddressOrTheSlash64OfIpv6) {
  EXPECT_NE(key_of("10.0.0.1"), key_of("10.0.0.2"));
  EXPECT_EQ(key_of("10.0.0.1"), key_of("::ffff:10.0.0.1"));
  EXPECT_EQ(key_of("2001:db8::1"), key_of("2001:db8::ffff:1"));
  EXPECT_NE(key_of("2001:db8::1"), key_of("2001:db8:0:1::1"));
}

TEST(LogLimiter, OneLinePerPeerKindAndInterval) {
  reducer::LogLimiter l(milliseconds(1000), 100);
  const auto t = Deadline::Clock::time_point() + std::chrono::hours(1);
  const auto a = key_of("10.0.0.1"), b = key_of("10.0.0.2");
  EXPECT_EQ(l.line(a, 1, t), "");
  EXPECT_EQ(l.line(a, 2, t), "");
  EXPECT_EQ(l.line(b, 1, t), "");
  for (int i = 0; i < 41; ++i) EXPECT_EQ(l.line(a, 1, t + milliseconds(i)), std::nullopt);
  EXPECT_EQ(l.line(a, 1, t + milliseconds(1000)), " (41 more like it since the last line)");
  EXPECT_EQ(l.line(a, 1, t + milliseconds(2000)), "");
}

TEST(LogLimiter, ABudgetForAllBoundsLinesAndMemory) {
  reducer::LogLimiter l(milliseconds(1000), 10);
  auto t = Deadline::Clock::time_point() + std::chrono::hours(1);
  size_t said = 0;
  for (int round = 0; round < 3; ++round, t += milliseconds(1000))
    for (int i = 0; i < 1000; ++i)
      if (auto more = l.line(key_of("10.0." + std::to_string(round) + "." + std::to_string(i % 256)), 1, t)) {
        EXPECT_EQ(*more,
                  round > 0 && said % 10 == 0 ? " (and 960 lines about other peers were left out)" : "")
            << said;
        ++said;
      }
  EXPECT_EQ(said, 30u);
  EXPECT_LE(l.size(), 20u);
}

}  // namespace
}  // namespace fanin
