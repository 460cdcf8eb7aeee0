// With and without reducers: every rank comes to the same answer, soon, and says why.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/support/collnet_calls.h"
#include "tests/support/collnet_world.h"
#include "tests/support/held_port.h"
#include "tests/support/log_capture.h"
#include "tests/support/reducer_fixture.h"
#include "transport/tcp/socket.h"

namespace fanin {
namespace {

namespace cn = plugin::collnet;
using plugin::Options;
using std::chrono::milliseconds;
using test::CollnetWorld;
using test::HeldPort;
using test::LogCapture;
using test::named;
using Clock = std::chrono::steady_clock;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(CollnetFallback, NoReducerUpIsAgreedOnSoon) {
  LogCapture log;
  CollnetWorld world(0);
  Options o = world.options();
  const HeldPort port;
  const std::string dead = port.text();
  o.pool = named(dead);
  o.connect_timeout = milliseconds(120000);
  const auto begin = Clock::now();
  for (auto& r : world.connect(3, [&](int) { return o; })) {
    ASSERT_TRUE(r) << r.error().text();
    EXPECT_EQ(*r, nullptr);
  }
  EXPECT_LT(Clock::now() - begin, o.connect_timeout / 4);  // refused for a second or two, not waited for
  EXPECT_EQ(log.count(NCCL_LOG_WARN, "does without reducers"), 3u) << log.all();
  EXPECT_EQ(log.count(NCCL_LOG_WARN, dead + ": Connection refused (all 3 ranks)"), 3u) << log.all();
  EXPECT_EQ(log.count(NCCL_LOG_WARN), 3u) << log.all();
}

// Its --allow shows as a connection that is closed or reset, as it falls out: one sentence for both.
TEST(CollnetFallback, AReducerThatLetsNobodyInIsOneCauseForAll) {
  LogCapture log;
  ReducerConfig c = test::reducer_config(1, 16 << 10);
  c.allow = *tcp::NetworkList::parse("10.1.2.3");
  auto shut = test::start_reducer(c);
  CollnetWorld world(0);
  Options o = world.options();
  o.pool = named(shut->address().text());
  o.connect_timeout = milliseconds(3000);
  for (auto& r : world.connect(3, [&](int) { return o; })) {
    ASSERT_TRUE(r) << r.error().text();
    EXPECT_EQ(*r, nullptr);
  }
  EXPECT_EQ(log.count(NCCL_LOG_WARN, "does its --allow name this host?) (all 3 ranks)"), 3u) << log.all();
}

TEST(CollnetFallback, StrictIsACleanErrorOnEveryRank) {
  CollnetWorld world(0);
  const HeldPort port;
  const std::string dead = port.text();
  for (auto& r : world.connect(2, [&](int rank) {
         Options o = world.options();
         o.pool = named(dead);
         o.strict = rank == 1;
         return o;
       })) {
    ASSERT_FALSE(r);
    EXPECT_TRUE(has(r.error().text(), "FANIN_STRICT=1")) << r.error().text();
    EXPECT_TRUE(has(r.error().text(), dead)) << r.error().text();
  }
}

TEST(CollnetFallback, ReducerOneRankCannotReachIsLeftOut) {
  LogCapture log;
  CollnetWorld world(2);
  const HeldPort dead;
  const std::string good = world.reducers[0]->address().text(), bad = world.reducers[1]->address().text();
  auto results = world.connect(3, [&](int rank) {
    Options o = world.options();
    if (rank == 1) o.pool = named(good + "," + dead.text());
    return o;
  });
  std::vector<std::unique_ptr<cn::Comm>> comms;
  for (auto& r : results) {
    ASSERT_TRUE(r && *r);
    EXPECT_EQ((*r)->lanes(), 2u);
    comms.push_back(std::move(*r));
  }
  EXPECT_EQ(log.count(NCCL_LOG_WARN, bad + ": not in the pool of rank 1"), 3u) << log.all();
  EXPECT_EQ(log.count(NCCL_LOG_INFO, "uses 1 reducers (" + good + ")"), 3u) << log.all();
  test::each_rank(3, [&](int rank) {
    std::vector<float> buf(5000, 1);
    auto r = cn::iallreduce(comms[static_cast<size_t>(rank)].get(), buf.data(), buf.data(), buf.size(),
                            DType::kF32, RedOp::kSum);
    ASSERT_TRUE(r && *r);
    test::finish(*r);
    EXPECT_EQ(buf[4999], 3);
  });
  // Nobody uses the other one: its session ended with goodbyes.
  for (int i = 0; i < 2000 && world.reducers[1]->stats().sessions_open > 0; ++i) usleep(1000);
  EXPECT_EQ(world.reducers[1]->stats().sessions_open, 0u);
}

TEST(CollnetFallback, UnsetOnOneRankIsSaid) {
  LogCapture log;
  CollnetWorld world(1);
  for (auto& r : world.connect(2, [&](int rank) {
         Options o = world.options();
         if (rank == 1) o.pool = {};
         return o;
       })) {
    ASSERT_TRUE(r);
    EXPECT_EQ(*r, nullptr);
  }
  EXPECT_EQ(log.count(NCCL_LOG_WARN, "FANIN_REDUCERS is not set on rank 1"), 2u) << log.all();
}

// Somebody turned CollNet on, so that it should be used.
TEST(CollnetFallback, UnsetEverywhereIsAWarning) {
  LogCapture log;
  CollnetWorld world(0);
  for (auto& r : world.connect(2, [&](int) { return world.options(); })) {
    ASSERT_TRUE(r);
    EXPECT_EQ(*r, nullptr);
  }
  EXPECT_EQ(log.count(NCCL_LOG_WARN), 2u) << log.all();
  EXPECT_EQ(log.count(NCCL_LOG_WARN, "FANIN_REDUCERS is not set (all 2 ranks)"), 2u) << log.all();
}

TEST(CollnetFallback, BadConfigurationNamesTheFix) {
  LogCapture log;
  CollnetWorld world(1);
  for (auto& r : world.connect(2, [&](int rank) {
         Options o = world.options();
         if (rank == 0) o.pool = named("10.0.0.7");
         return o;
       })) {
    ASSERT_TRUE(r);
    EXPECT_EQ(*r, nullptr);
  }
  EXPECT_EQ(log.count(NCCL_LOG_WARN, "FANIN_REDUCERS: '10.0.0.7' is not HOST:PORT (no port)"), 2u)
      << log.all();
}

TEST(CollnetFallback, OneReducerUnderTwoNames) {
  LogCapture log;
  ReducerConfig c;
  c.listen = tcp::Address::any(AF_INET, 0);
  c.lanes = 2;
  auto reducer = Reducer::start(c);
  ASSERT_TRUE(reducer);
  const std::string port = std::to_string((*reducer)->address().port());
  CollnetWorld world(0);
  for (auto& r : world.connect(2, [&](int) {
         Options o = world.options();
         o.pool = named("127.0.0.1:" + port + ",127.0.0.2:" + port);
         return o;
       })) {
    ASSERT_TRUE(r);
    EXPECT_EQ(*r, nullptr);
  }
  EXPECT_EQ(
      log.count(NCCL_LOG_WARN, "127.0.0.1:" + port + " and 127.0.0.2:" + port + " are the same process"), 2u)
      << log.all();
}

TEST(CollnetFallback, StrangerInsteadOfReducer) {
  // Accepts (in the kernel's queue), never answers.
  Result<Fd> silent = tcp::listen_on(tcp::Address::loopback(0));
  ASSERT_TRUE(silent);
  const std::string address = tcp::local_address(silent->get())->text();
  LogCapture log;
  CollnetWorld world(1);
  auto results = world.connect(2, [&](int) {
    Options o = world.options();
    o.pool.spec += "," + address;
    o.connect_timeout = milliseconds(3000);
    return o;
  });
  for (auto& r : results) EXPECT_TRUE(r && *r);
  EXPECT_EQ(log.count(NCCL_LOG_WARN, address + ": connected, but no answer to the handshake"), 2u)
      << log.all();
}

TEST(CollnetFallback, ReducerThatComesUpLateIsWaitedFor) {
  CollnetWorld world(0);
  ReducerConfig c;
  const HeldPort port;
  c.listen = port.address();
  c.lanes = 1;
  std::unique_ptr<Reducer> late;
  std::thread starter([&] {
    usleep(300000);
    auto r = Reducer::start(c);
    ASSERT_TRUE(r);
    late = std::move(*r);
  });
  auto results = world.connect(2, [&](int) {
    Options o = world.options();
    o.pool = named(c.listen.text());
    return o;
  });
  starter.join();
  for (auto& r : results) EXPECT_TRUE(r && *r);
}

TEST(CollnetFallback, RankZerosSliceSizeIsEverybodysAndTheOthersAreWarned) {
  LogCapture log;
  CollnetWorld world(2);
  auto results = world.connect(2, [&](int rank) {
    Options o = world.options();
    o.min_slice = rank == 0 ? 1024 : 65536;
    return o;
  });
  EXPECT_EQ(log.count(NCCL_LOG_WARN), 1u) << log.all();
  EXPECT_EQ(log.count(NCCL_LOG_WARN, "FANIN_MIN_SLICE is 64 KiB on rank 1"), 1u) << log.all();
  EXPECT_EQ(log.count(NCCL_LOG_WARN, "and 1 KiB on rank 0; all ranks use rank 0's"), 1u) << log.all();
  test::each_rank(2, [&](int rank) {
    auto& r = results[static_cast<size_t>(rank)];
    ASSERT_TRUE(r && *r);
    std::vector<float> buf(10000, 1);
    auto request = cn::iallreduce(r->get(), buf.data(), buf.data(), buf.size(), DType::kF32, RedOp::kSum);
    ASSERT_TRUE(request && *request);
    test::finish(*request);
    EXPECT_EQ(buf[0], 2);
  });
}

TEST(CollnetFallback, ForeignHandleSendsAllRanksTheSameWay) {
  LogCapture log;
  CollnetWorld world(1);
  cn::Handle mine, foreign{};
  auto listener = cn::open_listener(world.options(), test::loopback_device(), mine);
  ASSERT_TRUE(listener);
  void* handles[] = {&mine, &foreign};
  auto r = cn::connect_session(world.options(), handles, 2, 0, **listener);
  ASSERT_TRUE(r);
  EXPECT_EQ(*r, nullptr);
  EXPECT_EQ(log.count(NCCL_LOG_WARN, "rank 1 runs another plugin or another version"), 1u) << log.all();
}

// The interface NCCL's shims call, with the environment read once.
TEST(CollnetPublic, ListenConnectReduceClose) {
  LogCapture log;
  CollnetWorld world(1);
  setenv("NCCL_SOCKET_IFNAME", "lo", 1);
  setenv("FANIN_REDUCERS", world.options().pool.spec.c_str(), 1);
  alignas(8) unsigned char handles[2][cn::kHandleBytes];
  cn::Listener* listeners[2];
  for (int i = 0; i < 2; ++i) {
    auto l = cn::listen(0, handles[i]);
    ASSERT_TRUE(l) << l.error().text();
    listeners[i] = *l;
  }
  EXPECT_FALSE(cn::listen(1000, handles[0] + 0));
  void* pointers[] = {handles[0], handles[1]};
  test::each_rank(2, [&](int rank) {
    auto comm = cn::connect(pointers, 2, rank, listeners[rank]);
    ASSERT_TRUE(comm) << comm.error().text();
    ASSERT_NE(*comm, nullptr);
    std::vector<float> buf(100, 21);
    auto r = cn::iallreduce(*comm, buf.data(), buf.data(), buf.size(), DType::kF32, RedOp::kSum);
    ASSERT_TRUE(r && *r);
    EXPECT_EQ(test::finish(*r), 400u);
    EXPECT_EQ(buf[99], 42);
    auto flush = cn::iflush(*comm);
    EXPECT_TRUE(flush && *flush == nullptr);
    EXPECT_TRUE(cn::close(*comm));
    EXPECT_TRUE(cn::close_listener(listeners[rank]));
  });
  EXPECT_TRUE(cn::close(nullptr));
  EXPECT_TRUE(cn::close_listener(nullptr));
}

}  // namespace
}  // namespace fanin
