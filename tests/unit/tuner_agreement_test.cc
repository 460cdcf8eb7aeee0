// All ranks of a communicator get the same figures, or know that they have none: against real reducers, ranks as threads.
#include "plugin/tuner/agreement.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <cmath>
#include <fstream>

#include "plugin/collnet/measured.h"
#include "plugin/collnet/probe.h"
#include "plugin/tuner/tuner.h"
#include "tests/support/collnet_calls.h"
#include "tests/support/collnet_world.h"
#include "tests/support/flipping_relay.h"
#include "tests/support/log_capture.h"
#include "tests/support/reducer_fixture.h"
#include "transport/tcp/socket.h"

namespace fanin {
namespace {

using plugin::Options;
using plugin::tuner::agree;
using plugin::tuner::Agreed;
using plugin::tuner::Question;
using test::each_rank;
using test::has;
using test::named;

std::unique_ptr<Reducer> short_reducer(std::vector<NamedSecret> secrets = {}) {
  ReducerConfig c = test::reducer_config();
  c.figures_patience = std::chrono::milliseconds(300);
  c.secrets = std::move(secrets);
  return test::start_reducer(c);
}

Options options_for(const std::string& pool) {
  Options o;
  o.pool = named(pool);
  return o;
}

constexpr plugin::tuner::Shape kFour{2, 4};

TEST(Agreement, LongestTimesAndLeastRatesOfThoseThatMeasured) {
  const auto reducer = test::start_reducer(test::reducer_config());
  const Options o = options_for(reducer->address().text());
  std::vector<Result<Agreed>> got(4, Error(Errc::kInternal, "not run"));
  each_rank(4, [&](int rank) {
    Question q{77, kFour, 5, std::nullopt};
    if (rank == 1) q.measured = wire::PoolFigures{10, 200, 900, 1200};
    if (rank == 3) q.measured = wire::PoolFigures{20, 100, 1000, 1100};
    got[static_cast<size_t>(rank)] = agree(o, q);
  });
  for (const Result<Agreed>& a : got) {
    ASSERT_TRUE(a) << a.error().text();
    ASSERT_TRUE(a->all && a->figures);
    EXPECT_EQ(*a->figures, (plugin::tuner::Figures{20, 200, 900, 1100, 1}));
  }
}

TEST(Agreement, RailsAreTheMeasurementsPerNode) {
  const auto reducer = test::start_reducer(test::reducer_config());
  const Options o = options_for(reducer->address().text());
  each_rank(4, [&](int) {
    const Result<Agreed> a = agree(o, {77, kFour, 5, wire::PoolFigures{10, 200, 900, 1200}});
    ASSERT_TRUE(a && a->figures);
    EXPECT_EQ(a->figures->rails, 2u);
  });
}

TEST(Agreement, NobodyMeasuredIsAgreedToo) {
  const auto reducer = test::start_reducer(test::reducer_config());
  each_rank(4, [&](int) {
    const Result<Agreed> a = agree(options_for(reducer->address().text()), {77, kFour, 5, std::nullopt});
    ASSERT_TRUE(a && a->all);
    EXPECT_FALSE(a->figures);
  });
}

// One is missing, or has another file of rules, another communicator, another number of ranks, another reducer: nobody may get
// figures.
TEST(Agreement, UnlessAllAskTheSameNobodyGetsAny) {
  const auto reducer = short_reducer(), other = short_reducer();
  const Options o = options_for(reducer->address().text());
  for (int what = 0; what < 5; ++what)
    each_rank(4, [&](int rank) {
      Question q{77, kFour, 5, wire::PoolFigures{10, 200, 900, 1200}};
      Options mine = o;
      if (rank == 2) {
        if (what == 0) return;
        if (what == 1) q.settings = 6;
        if (what == 2) q.communicator = 78;
        if (what == 3) q.shape.ranks = 5;
        if (what == 4) mine = options_for(other->address().text());
      }
      const Result<Agreed> a = agree(mine, q);
      ASSERT_TRUE(a) << a.error().text();
      EXPECT_FALSE(a->all) << "case " << what << ", rank " << rank;
      EXPECT_TRUE(has(a->why, "not all ranks asked")) << a->why;
    });
}

TEST(Agreement, TheNextReducerIsAskedWhenTheFirstIsNotThere) {
  const auto reducer = test::start_reducer(test::reducer_config());
  each_rank(4, [&](int) {
    const Result<Agreed> a =
        agree(options_for("127.0.0.1:1," + reducer->address().text()), {77, kFour, 5, {}});
    EXPECT_TRUE(a && a->all);
  });
}

TEST(Agreement, WithoutAReducerARankDecidesAlone) {
  const Result<Agreed> a = agree(options_for("127.0.0.1:1"), {77, kFour, 5, {}});
  ASSERT_TRUE(a);
  EXPECT_FALSE(a->all);
  EXPECT_TRUE(has(a->why, "127.0.0.1:1: ")) << a->why;
}

TEST(Agreement, ItIsAuthenticatedAsLanesAre) {
  const char* text = "secret-of-the-job-0123456789abcdef";
  const auto reducer = short_reducer({{"job", *Secret::make(text)}});
  Options o = options_for(reducer->address().text());
  const Result<Agreed> stranger = agree(o, {77, {2, 1}, 5, {}});
  ASSERT_TRUE(stranger);
  EXPECT_FALSE(stranger->all);
  EXPECT_TRUE(has(stranger->why, "FANIN_SECRET_FILE")) << stranger->why;
  o.secret = text;
  const Result<Agreed> member = agree(o, {77, {2, 1}, 5, {}});
  EXPECT_TRUE(member && member->all);
}

// What a rank of kFour that has asked makes of this answer, or of none before the end.
Result<Agreed> told(const std::optional<wire::FiguresAnswer>& answer) {
  const Fd listener = *tcp::listen_on(tcp::Address::loopback(0));
  std::thread impostor([&] {
    pollfd p{listener.get(), POLLIN, 0};  // it does not block
    ASSERT_EQ(::poll(&p, 1, 10000), 1);
    const Fd fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    wire::Hello hello{};
    EXPECT_EQ(::recv(fd.get(), &hello, sizeof hello, MSG_WAITALL), static_cast<ssize_t>(sizeof hello));
    EXPECT_EQ(hello.lane, wire::kFiguresLane);
    wire::Welcome w{};
    w.preamble = {wire::kMagic, wire::kVersion, sizeof w};
    w.lanes = 1;
    w.block_bytes = 4096;
    w.window_blocks = 1;
    EXPECT_EQ(::send(fd.get(), &w, sizeof w, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof w));
    wire::FiguresAsk ask{};
    EXPECT_EQ(::recv(fd.get(), &ask, sizeof ask, MSG_WAITALL), static_cast<ssize_t>(sizeof ask));
    if (answer) {
      EXPECT_EQ(::send(fd.get(), &*answer, sizeof *answer, MSG_NOSIGNAL),
                static_cast<ssize_t>(sizeof *answer));
    }
  });
  const Options o = options_for(tcp::local_address(listener.get())->text());
  Result<Agreed> a = agree(o, {77, kFour, 5, {}});
  impostor.join();
  return a;
}

// Whoever has asked does not go on alone.
TEST(Agreement, AReducerThatVanishesIsAnError) {
  const Result<Agreed> a = told(std::nullopt);
  ASSERT_FALSE(a);
  EXPECT_TRUE(has(a.error().text(), "went away")) << a.error().text();
}

TEST(Agreement, WhatCannotBeAnAnswerIsAnError) {
  wire::FiguresAnswer good{};
  good.preamble = {wire::kMagic, wire::kVersion, sizeof good};
  good.agreed = 1;
  good.measured = 4;
  good.figures = {20, 200, 900, 1100};
  const Result<Agreed> taken = told(good);
  ASSERT_TRUE(taken && taken->figures) << (taken ? taken->why : taken.error().text());
  EXPECT_EQ(*taken->figures, (plugin::tuner::Figures{20, 200, 900, 1100, 2}));
  void (*const impossible[])(wire::FiguresAnswer&) = {
      [](auto& a) { a.preamble.magic = 0x20544547; },
      [](auto& a) { ++a.preamble.version; },
      [](auto& a) { a.agreed = 2; },
      [](auto& a) { a.measured = 5; },  // of four ranks
      [](auto& a) { a.agreed = 0; },    // and figures
      [](auto& a) { a.figures.small_us = NAN; },
      [](auto& a) { a.figures.chunk_us = INFINITY; },
      [](auto& a) { a.figures.pool_rate = 0; },
      [](auto& a) { a.figures.link_rate = -1; },
  };
  for (size_t i = 0; i < std::size(impossible); ++i) {
    wire::FiguresAnswer bad = good;
    impossible[i](bad);
    const Result<Agreed> a = told(bad);
    ASSERT_FALSE(a) << i;
    EXPECT_TRUE(has(a.error().text(), "answered something impossible")) << i << a.error().text();
  }
}

TEST(Agreement, WhatCannotBeAQuestionIsDropped) {
  const auto reducer = short_reducer();
  for (int what = 0; what < 4; ++what) {
    test::RawWorker w(reducer->address());
    wire::Hello hello = test::RawWorker::hello(test::RawWorker::session(1), 0, 2, wire::kFiguresLane);
    ASSERT_EQ(w.greet(hello).refusal, wire::Refusal::kNone);
    wire::FiguresAsk ask{};
    ask.preamble = {wire::kMagic, wire::kVersion, sizeof ask};
    ask.measured = 1;
    ask.figures = {1, 1, 1, 1};
    if (what == 0) ask.preamble.magic = 0x20544547;
    if (what == 1) ask.figures.link_rate = NAN;
    if (what == 2) ask.figures.chunk_us = -1;
    if (what == 3) ask.measured = 2;
    w.send(&ask, sizeof ask);
    w.expect_closed();
  }
}

TEST(Probe, ASessionMeasuresItselfAndIsAsGoodAsNew) {
  plugin::collnet::expect_questions();
  while (plugin::collnet::take()) {
  }
  test::LogCapture log;
  test::CollnetWorld world(2);
  auto comms = world.connect_all(3);
  for (int rank = 0; rank < 3; ++rank) {
    const auto f = plugin::collnet::take();
    ASSERT_TRUE(f);
    EXPECT_TRUE(f->possible());
    EXPECT_GE(f->chunk_us, f->small_us);
    EXPECT_NEAR(f->link_rate, f->pool_rate * 1.5f, f->pool_rate * 0.01f);  // two reducers for three workers
  }
  EXPECT_FALSE(plugin::collnet::take());
  each_rank(3, [&](int rank) {
    std::vector<float> data(50000);
    for (size_t i = 0; i < data.size(); ++i) data[i] = test::input(rank, 0, i);
    auto* comm = comms[static_cast<size_t>(rank)].get();
    auto* r = test::accepted([&] {
      return plugin::collnet::iallreduce(comm, data.data(), data.data(), data.size(), DType::kF32,
                                         RedOp::kSum);
    });
    ASSERT_EQ(test::finish(r), data.size() * sizeof(float));
    for (size_t i = 0; i < data.size(); ++i) ASSERT_EQ(data[i], test::expected_sum(3, 0, i));
  });
  // What it did for itself is not told as the job's.
  comms.clear();
  EXPECT_EQ(log.count(NCCL_LOG_INFO, ": 1 messages, 200000 bytes"), 3u) << log.all();
}

// With links that carry a thousandth of what others do it is over in a fraction of the time that would end the session.
TEST(Probe, OfASlowPoolIsShort) {
  plugin::collnet::expect_questions();
  while (plugin::collnet::take()) {
  }
  test::CollnetWorld world(1);
  test::FlippingRelay relay(world.reducers[0]->address());
  relay.pace(5'000'000);
  Options o = world.options();
  o.pool = named(relay.address().text());
  const auto comms = world.connect_all(3, o);
  for (const auto& comm : comms) {
    EXPECT_FALSE(comm->failure().is_set()) << comm->failure().error().text();
    const auto f = plugin::collnet::take();
    ASSERT_TRUE(f);
    EXPECT_GT(f->chunk_us, 20e3f);  // 192 KiB pass
    EXPECT_LT(f->pool_rate, 1.7f);  // 3 ranks, two ways
  }
}

// Rank 0's setting is everyone's: a rank that does not want it does it too.
TEST(Probe, AllOrNoneOfTheRanks) {
  plugin::collnet::expect_questions();
  for (const bool root : {false, true}) {
    while (plugin::collnet::take()) {
    }
    test::CollnetWorld world(1);
    const auto comms = world.connect(3, [&](int rank) {
      Options o = world.options();
      o.tuner = (rank == 0) == root;
      return o;
    });
    for (const auto& c : comms) ASSERT_TRUE(c && *c);
    size_t taken = 0;
    while (plugin::collnet::take()) ++taken;
    EXPECT_EQ(taken, root ? 3u : 0u);
  }
}

TEST(Probe, OnlyWhereATunerWillAsk) {
  plugin::collnet::expect_questions();
  EXPECT_TRUE(plugin::collnet::questions_expected());
  for (const auto& [name, value] : {std::pair{"NCCL_ALGO", "Ring"}, {"NCCL_TUNER_PLUGIN", "None"}}) {
    setenv(name, value, 1);
    EXPECT_FALSE(plugin::collnet::questions_expected()) << name;
    unsetenv(name);
  }
}

// A session's own figures come before what an earlier one left.
TEST(Probe, TheNewestFiguresAreTakenFirst) {
  while (plugin::collnet::take()) {
  }
  plugin::collnet::put({1, 1, 1, 1});
  plugin::collnet::put({2, 2, 2, 2});
  EXPECT_EQ(plugin::collnet::take()->small_us, 2);
  EXPECT_EQ(plugin::collnet::take()->small_us, 1);
  EXPECT_FALSE(plugin::collnet::take());
}

TEST(Probe, WhatALinkMustBeLike) {
  using plugin::collnet::figures_of;
  EXPECT_FLOAT_EQ(figures_of(10, 20, 1000, 5, 5, 0).link_rate, 1000);
  EXPECT_FLOAT_EQ(figures_of(10, 20, 1000, 8, 5, 0).link_rate, 1000);
  EXPECT_FLOAT_EQ(figures_of(10, 20, 500, 2, 4, 0).link_rate, 1000);
  EXPECT_FLOAT_EQ(figures_of(10, 20, 500, 4, 4, 25000).link_rate, 25000 / 8. * 0.95);  // a slow pool
  EXPECT_FLOAT_EQ(figures_of(30, 20, 500, 4, 4, 0).chunk_us, 30);
}

TEST(MakingTuners, AllRanksOfACommunicatorNameTheSameSize) {
  while (plugin::collnet::take()) {
  }
  const auto reducer = test::start_reducer(test::reducer_config());
  const Options o = options_for(reducer->address().text());
  for (int i = 0; i < 3; ++i) plugin::collnet::put({30, 100.f + 1000 * i, 1000, 1000});
  uint64_t from[6] = {};
  each_rank(6, [&](int rank) {
    const auto t = plugin::tuner::make_tuner(o, {3, 6}, 1234);
    ASSERT_TRUE(t) << t.error().text();
    from[rank] = t->from_bytes();
  });
  plugin::tuner::Figures f{30, 2100, 1000, 1000, 1};
  for (const uint64_t x : from) EXPECT_EQ(x, plugin::tuner::crossover({3, 6}, f));
  EXPECT_GT(from[0], plugin::tuner::crossover({3, 6}, {30, 100, 1000, 1000, 1}));
}

}  // namespace
}  // namespace fanin
