// Attacks on a reducer with secrets, byte by byte: who does not know a job's secret does not get into its sessions.
#include <gtest/gtest.h>

#include "fanin/proof.h"
#include "tests/support/reducer_fixture.h"

namespace fanin {
namespace {

using test::eventually;
using test::has;
using test::RawWorker;
using test::start_reducer;
using wire::Refusal;

Secret made(const char* text) { return *Secret::make(text); }
const Secret kA = made("secret-of-job-a-0123456789abcdef"), kB = made("secret-of-job-b-0123456789abcdef"),
             kStranger = made("nobody-knows-this-0123456789abcd");

std::unique_ptr<Reducer> guarded(
    std::chrono::milliseconds handshake_timeout = std::chrono::milliseconds(5000)) {
  ReducerConfig c = test::reducer_config(2, 64 << 10);
  c.secrets = {{"a", kA}, {"b", kB}};
  c.handshake_timeout = handshake_timeout;
  return start_reducer(c);
}

wire::Hello plain(uint32_t rank = 0, uint32_t lane = 0) {
  return RawWorker::hello(RawWorker::session(1), rank, 2, lane);
}
wire::Hello with(const Secret& s, uint32_t rank = 0, uint32_t lane = 0) {
  return RawWorker::hello_with(s, plain(rank, lane));
}

// Greets and expects a challenge.
wire::Welcome challenged(RawWorker& w, const wire::Hello& h) {
  wire::Welcome c = w.greet(h);
  EXPECT_EQ(c.refusal, Refusal::kChallenge) << w.refusal();
  return c;
}
void expect_refused(RawWorker& w, const char* text) {
  EXPECT_EQ(w.welcome().refusal, Refusal::kAuth);
  EXPECT_TRUE(has(w.refusal(), text)) << w.refusal();
  EXPECT_EQ(w.welcome().proof, wire::Proof{});
  w.expect_closed();
}

TEST(ReducerAuth, BothSidesProveTheSecretAndASessionWorks) {
  auto r = guarded();
  std::vector<std::thread> ranks;
  for (uint32_t rank = 0; rank < 2; ++rank)
    ranks.emplace_back([&, rank] {
      RawWorker w(r->address());
      challenged(w, with(kA, rank));
      EXPECT_EQ(w.answer(kA).refusal, Refusal::kNone) << w.refusal();
      EXPECT_TRUE(w.reducer_proved());
      std::vector<float> in(1000, 1.5f + static_cast<float>(rank));
      std::vector<test::Bytes> blocks;
      w.append(&blocks, RawWorker::all_reduce(0, 4000), reinterpret_cast<std::byte*>(in.data()));
      std::vector<test::Frame> got = w.exchange(blocks);
      ASSERT_EQ(got.size(), 1u);
      float sum;
      memcpy(&sum, got[0].payload.data(), sizeof sum);
      EXPECT_EQ(sum, 4.0f);
      w.send(RawWorker::goodbye());
    });
  for (auto& t : ranks) t.join();
}

TEST(ReducerAuth, TheChallengeTellsNothingButANonceAndAProof) {
  auto r = guarded();
  RawWorker w(r->address()), v(r->address());
  const wire::Hello h = with(kA);
  const wire::Welcome c = challenged(w, h), d = challenged(v, h);
  EXPECT_EQ(c.proof, reducer_proof(kA, h, c));
  EXPECT_NE(c.nonce, d.nonce);
  EXPECT_EQ(c.lanes, 0u);
  EXPECT_EQ(c.reducer, wire::ReducerId{});
  EXPECT_EQ(r->stats().sessions_open, 0u);  // nothing is taken before the proof
  EXPECT_EQ(r->stats().memory_used, 0u);
}

TEST(ReducerAuth, ARefusalTellsAStrangerWhyAndNothingElse) {
  auto r = guarded();
  wire::Hello impossible = with(kA), newer = with(kA);
  impossible.nranks = 0;
  newer.preamble.version = 9;
  for (const wire::Hello& h : {plain(), with(kStranger), impossible, newer}) {
    RawWorker w(r->address());
    const wire::Welcome answer = w.greet(h);
    EXPECT_NE(answer.refusal, Refusal::kNone);
    EXPECT_EQ(answer.lanes, 0u);
    EXPECT_EQ(answer.block_bytes, 0u);
    EXPECT_EQ(answer.reducer, wire::ReducerId{});
  }
}

TEST(ReducerAuth, NoSecret) {
  auto r = guarded();
  RawWorker w(r->address());
  w.greet(plain());
  expect_refused(w, "set FANIN_SECRET_FILE in the job");
}

TEST(ReducerAuth, ASecretTheReducerDoesNotKnow) {
  auto r = guarded();
  RawWorker w(r->address());
  w.greet(with(kStranger));
  expect_refused(w, "not among this reducer's");
}

TEST(ReducerAuth, AReducerWithoutSecretsSaysSo) {
  auto r = start_reducer(test::reducer_config());
  RawWorker w(r->address());
  w.greet(RawWorker::hello_with(kA, RawWorker::hello(RawWorker::session(1), 0, 2)));
  expect_refused(w, "start the reducer with --secret-file");
}

TEST(ReducerAuth, WrongProofs) {
  auto r = guarded();
  using Forge = wire::Proof (*)(const wire::Hello&, const wire::Welcome&);
  const Forge forgeries[] = {
      [](const wire::Hello&, const wire::Welcome&) { return wire::Proof{}; },
      // Reflection: the reducer's own proof, and what it would prove of this handshake.
      [](const wire::Hello&, const wire::Welcome& c) { return c.proof; },
      [](const wire::Hello& h, const wire::Welcome& c) { return welcome_proof(kA, h, c, {}, ""); },
      // Another job's secret under this job's name, and a stranger's.
      [](const wire::Hello& h, const wire::Welcome& c) { return worker_proof(kB, h, c); },
      [](const wire::Hello& h, const wire::Welcome& c) { return worker_proof(kStranger, h, c); },
      // A proof for another seat than that of the Hello: rank, lane, session, and so on.
      [](const wire::Hello& h, const wire::Welcome& c) {
        wire::Hello other = h;
        other.rank = 1;
        return worker_proof(kA, other, c);
      },
      [](const wire::Hello& h, const wire::Welcome& c) {
        wire::Hello other = h;
        other.session[0] ^= 1;
        return worker_proof(kA, other, c);
      },
      [](const wire::Hello& h, const wire::Welcome& c) {
        wire::Hello other = h;
        other.preamble.version = wire::kVersion - 1;
        return worker_proof(kA, other, c);
      },
  };
  for (Forge forge : forgeries) {
    RawWorker w(r->address());
    const wire::Hello h = with(kA);
    const wire::Welcome c = challenged(w, h);
    w.send_proof(forge(h, c));
    expect_refused(w, "did not prove");
  }
  EXPECT_EQ(r->stats().sessions_total, 0u);
}

TEST(ReducerAuth, Replay) {
  auto r = guarded();
  const wire::Hello h = with(kA);
  wire::Proof heard;
  {
    RawWorker w(r->address());
    heard = worker_proof(kA, h, challenged(w, h));
    ASSERT_EQ(w.answer(kA).refusal, Refusal::kNone);
    w.send(RawWorker::goodbye());
    w.expect_closed();
  }
  ASSERT_TRUE(eventually([&] { return r->stats().sessions_open == 0; }));
  RawWorker again(r->address());
  challenged(again, h);  // the same Hello, word for word
  again.send_proof(heard);
  expect_refused(again, "did not prove");
  EXPECT_EQ(r->stats().sessions_total, 1u);
}

// An attacker without the secret relays between two connections of its own: the reducer's proof of one is no answer to
// the other's challenge.
TEST(ReducerAuth, ReflectionBetweenTwoConnections) {
  auto r = guarded();
  RawWorker one(r->address()), two(r->address());
  wire::Hello h = with(kA);
  const wire::Welcome c = challenged(one, h);
  h.nonce = c.nonce;  // asks the reducer to prove over its own nonce
  const wire::Welcome d = challenged(two, h);
  one.send_proof(d.proof);
  expect_refused(one, "did not prove");
  two.send_proof(c.proof);
  expect_refused(two, "did not prove");
}

// Whoever listens on the network hears the ids of sessions. With a secret of its own, another job can do nothing with them.
TEST(ReducerAuth, AnotherJobsSecretDoesNotJoin) {
  auto r = guarded();
  RawWorker a(r->address()), b(r->address()), a1(r->address());
  challenged(a, with(kA, 0));
  ASSERT_EQ(a.answer(kA).refusal, Refusal::kNone);
  challenged(b, with(kB, 1));
  EXPECT_EQ(b.answer(kB).refusal, Refusal::kNone) << b.refusal();
  EXPECT_EQ(r->stats().sessions_open, 2u);  // one of its own, where it waits
  challenged(a1, with(kA, 1));
  EXPECT_EQ(a1.answer(kA).refusal, Refusal::kNone) << a1.refusal();
}

TEST(ReducerAuth, AnotherJobsSecretTakesNoSessionAway) {
  auto r = guarded();
  auto all = [&](const Secret& s, uint32_t nranks, uint32_t rank) {
    return RawWorker::hello_with(s, RawWorker::hello(RawWorker::session(1), rank, nranks));
  };
  {  // comes first with the id, says something else about it, and breaks it
    RawWorker b(r->address());
    challenged(b, all(kB, 3, 0));
    ASSERT_EQ(b.answer(kB).refusal, Refusal::kNone);
    b.shut();
  }
  ASSERT_TRUE(eventually([&] { return r->stats().sessions_open == 0; }));
  RawWorker late(r->address());
  challenged(late, all(kB, 3, 1));
  EXPECT_EQ(late.answer(kB).refusal, Refusal::kBroken);
  RawWorker b(r->address()), a0(r->address()), a1(r->address());
  challenged(a0, all(kA, 2, 0));
  EXPECT_EQ(a0.answer(kA).refusal, Refusal::kNone) << a0.refusal();
  a0.shut();  // and what ended A's is not told to B
  ASSERT_TRUE(eventually([&] { return r->stats().sessions_open == 0; }));
  challenged(b, all(kB, 3, 2));
  EXPECT_EQ(b.answer(kB).refusal, Refusal::kBroken);
  EXPECT_FALSE(has(b.refusal(), "rank 0 (127.0.0.1") && has(b.refusal(), "of 2")) << b.refusal();
  challenged(a1, all(kA, 2, 1));
  EXPECT_EQ(a1.answer(kA).refusal, Refusal::kBroken);
}

TEST(ReducerAuth, Downgrade) {
  auto r = guarded();
  {  // an older version, which knows no secrets
    RawWorker w(r->address());
    wire::Hello h = with(kA);
    h.preamble.version = 1;
    w.send(&h, 48);
    wire::Welcome answer{};
    ASSERT_EQ(::recv(w.fd(), &answer, sizeof answer, MSG_WAITALL), static_cast<ssize_t>(sizeof answer));
    EXPECT_EQ(answer.refusal, Refusal::kVersion);
  }
  {  // frames instead of the proof
    RawWorker w(r->address());
    challenged(w, with(kA));
    wire::SliceHeader s = RawWorker::all_reduce(0, 4000);
    w.send(s);
    w.expect_closed();
  }
  EXPECT_EQ(r->stats().sessions_total, 0u);
}

TEST(ReducerAuth, TruncatedAndSilentProofsEndAtTheDeadline) {
  auto r = guarded(std::chrono::milliseconds(1500));
  RawWorker silent(r->address()), half(r->address()), gone(r->address());
  challenged(silent, with(kA));
  wire::HelloProof p{{wire::kMagic, wire::kVersion, sizeof p}, {}};
  p.proof = worker_proof(kA, with(kA), challenged(half, with(kA)));
  half.send(&p, sizeof p - 1);
  challenged(gone, with(kA));
  gone.shut();
  silent.expect_closed();
  half.expect_closed();
  EXPECT_TRUE(eventually([&] { return r->stats().strangers == 3; }));
  EXPECT_EQ(r->stats().sessions_total, 0u);
  EXPECT_EQ(r->stats().memory_used, 0u);
}

TEST(ReducerAuth, ProofByteByByte) {
  auto r = guarded();
  RawWorker w(r->address());
  const wire::Hello h = with(kA);
  wire::HelloProof p{{wire::kMagic, wire::kVersion, sizeof p}, worker_proof(kA, h, challenged(w, h))};
  for (size_t i = 0; i < sizeof p; ++i) w.send(reinterpret_cast<const char*>(&p) + i, 1);
  wire::Welcome answer{};
  ASSERT_EQ(::recv(w.fd(), &answer, sizeof answer, MSG_WAITALL), static_cast<ssize_t>(sizeof answer));
  EXPECT_EQ(answer.refusal, Refusal::kNone);
}

TEST(ReducerAuth, RenewedSecretsCountAtOnceAndRunningSessionsGoOn) {
  auto r = guarded();
  RawWorker a0(r->address());
  challenged(a0, with(kA, 0));
  ASSERT_EQ(a0.answer(kA).refusal, Refusal::kNone);
  RawWorker between(r->address());  // challenged under the old secrets, proves under the new
  challenged(between, with(kA, 1));
  r->set_secrets({{"s", kStranger}, {"b", kB}});
  EXPECT_EQ(between.answer(kA).refusal, Refusal::kNone);
  RawWorker late(r->address());
  late.greet(with(kA, 1, 1));
  expect_refused(late, "not among this reducer's");
  RawWorker fresh(r->address());
  wire::Hello h = RawWorker::hello_with(kStranger, RawWorker::hello(RawWorker::session(2), 0, 2));
  challenged(fresh, h);
  EXPECT_EQ(fresh.answer(kStranger).refusal, Refusal::kNone);
  r->set_secrets({});  // never opens the door
  RawWorker open(r->address());
  open.greet(RawWorker::hello(RawWorker::session(3), 0, 2));
  EXPECT_EQ(open.welcome().refusal, Refusal::kAuth);
}

}  // namespace
}  // namespace fanin
