// FANIN_CHECKSUM=1: right results by the same calls, a flipped bit told to every rank with the hop it came by, and agreement
// on whether checksums are used.
#include "fanin/checksum.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <climits>

#include "plugin/collnet/connector.h"
#include "tests/support/collnet_calls.h"
#include "tests/support/collnet_world.h"
#include "tests/support/flipping_relay.h"
#include "tests/support/log_capture.h"
#include "tests/support/raw_worker.h"
#include "transport/tcp/socket.h"

namespace fanin {
namespace {

namespace cn = plugin::collnet;
using cn::Comm;
using cn::Request;
using std::chrono::milliseconds;
using test::CollnetWorld;
using test::each_rank;
using test::FlippingRelay;
using test::LogCapture;
using test::RawWorker;
using Way = FlippingRelay::Way;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

plugin::Options checked(const CollnetWorld& world) {
  plugin::Options o = world.options();
  o.checksums = true;
  return o;
}

void all_reduce(std::vector<std::unique_ptr<Comm>>& comms, size_t count, size_t messages, bool in_place) {
  const int n = static_cast<int>(comms.size());
  each_rank(n, [&](int rank) {
    Comm* comm = comms[static_cast<size_t>(rank)].get();
    std::vector<std::vector<float>> send(messages), recv(messages);
    std::vector<Request*> requests;
    for (size_t m = 0; m < messages; ++m) {
      for (size_t i = 0; i < count; ++i) send[m].push_back(test::input(rank, m, i));
      recv[m].resize(count);
      float* to = in_place ? send[m].data() : recv[m].data();
      requests.push_back(test::accepted(
          [&] { return cn::iallreduce(comm, send[m].data(), to, count, DType::kF32, RedOp::kSum); }));
    }
    for (Request* r : requests) EXPECT_EQ(test::finish(r), count * sizeof(float));
    for (size_t m = 0; m < messages; ++m)
      for (size_t i = 0; i < count; ++i)
        ASSERT_EQ((in_place ? send : recv)[m][i], test::expected_sum(n, m, i)) << m << " " << i;
  });
}

TEST(Checksums, AllReducesOfAllSizesAreRight) {
  LogCapture log;
  CollnetWorld world(2);
  for (uint64_t window : {uint64_t{64} << 10, uint64_t{16} << 20}) {
    plugin::Options o = checked(world);
    o.window = window;  // smaller than some messages: they are streamed
    auto comms = world.connect_all(3, o);
    for (size_t count : {1, 15, 1000, 4096, 4097, 100000, 1000000})
      for (bool in_place : {false, true}) all_reduce(comms, count, count < 200000 ? 5 : 1, in_place);
  }
}

TEST(Checksums, GathersAndScattersAreRight) {
  LogCapture log;
  CollnetWorld world(1);
  auto comms = world.connect_all(3, checked(world));
  for (size_t each : {4, 4000, 60000})  // bytes of a rank
    for (size_t skip : {0, 4}) {        // the window begins amid the first rank's part
      const size_t bytes = 3 * each - skip;
      each_rank(3, [&](int rank) {
        Comm* comm = comms[static_cast<size_t>(rank)].get();
        const size_t own_begin = std::max(static_cast<size_t>(rank) * each, skip) - skip;
        const size_t own = (static_cast<size_t>(rank) + 1) * each - skip - own_begin;
        std::vector<float> part(own / 4, static_cast<float>(rank + 1)), all(bytes / 4), mine(own / 4);
        cn::Part to{nullptr, all.data(), bytes};
        test::finish(test::accepted([&] {
          return cn::iallgather(comm, part.data(), to, {each, skip, bytes});
        }));
        for (size_t i = 0; i < all.size(); ++i)
          ASSERT_EQ(all[i], static_cast<float>((i * 4 + skip) / each + 1)) << i;
        for (size_t i = 0; i < all.size(); ++i) all[i] = test::input(rank, each, i);
        cn::Part from{nullptr, all.data(), bytes};
        test::finish(test::accepted([&] {
          return cn::ireducescatter(comm, from, mine.data(), {each, skip, bytes}, DType::kF32, RedOp::kSum);
        }));
        for (size_t i = 0; i < mine.size(); ++i)
          ASSERT_EQ(mine[i], test::expected_sum(3, each, own_begin / 4 + i)) << i;
      });
    }
}

// One lane behind a network that damages.
struct DamagedWorld {
  explicit DamagedWorld(bool checksums, uint64_t window = 16 << 20)
      : world(1, 1), relay(world.reducers[0]->address()) {
    plugin::Options o = world.options();
    o.pool = test::named(relay.address().text());
    o.checksums = checksums;
    o.window = window;
    comms = world.connect_all(3, o);
    all_reduce(comms, 1000, 2, false);
  }
  // The error of each rank that goes on until it gets one; "" after `messages`.
  std::vector<std::string> flip(Way way, uint64_t at, size_t count, int messages = INT_MAX) {
    relay.flip(way, at);
    std::vector<std::string> errors(3);
    each_rank(3, [&](int rank) {
      Comm* comm = comms[static_cast<size_t>(rank)].get();
      std::string& error = errors[static_cast<size_t>(rank)];
      std::vector<float> buf(count);
      const auto end = std::chrono::steady_clock::now() + milliseconds(10000);
      for (int m = 0; m < messages && error.empty() && std::chrono::steady_clock::now() < end; ++m) {
        std::fill(buf.begin(), buf.end(), 1.f);
        Result<Request*> r = cn::iallreduce(comm, buf.data(), buf.data(), count, DType::kF32, RedOp::kSum);
        if (!r) error = r.error().text();
        if (r && *r) error = test::wait_for_error(*r, milliseconds(10000));
        if (error.empty())
          wrong += static_cast<int>(std::count_if(buf.begin(), buf.end(), [](float x) { return x != 3; }));
      }
      comms[static_cast<size_t>(rank)].reset();
    });
    EXPECT_TRUE(relay.flipped());
    return errors;
  }
  LogCapture log;
  CollnetWorld world;
  FlippingRelay relay;
  std::vector<std::unique_ptr<Comm>> comms;
  std::atomic<int> wrong{0};
};

void expect_hop(const std::vector<std::string>& errors, const std::string& also) {
  for (const std::string& e : errors) {
    for (const std::string& part :
         {std::string("arrived damaged"), std::string("rank "), std::string("127.0.0.1:"),
          std::string("lane 0"), std::string("sent with checksum "), also})
      EXPECT_TRUE(has(e, part)) << "no '" << part << "' in: " << e;
  }
}

TEST(Checksums, ABitFlippedOnItsWayToTheReducerIsToldToEveryRank) {
  // The first block; one amid the message; the sum behind a block; the header.
  expect_hop(DamagedWorld(true).flip(Way::kToReducer, 64 + 1000, 100000),
             "message 2, 16384 bytes at offset 0");
  expect_hop(DamagedWorld(true).flip(Way::kToReducer, 64 + 3 * (16384 + 8) + 77, 100000),
             "message 2, 16384 bytes at offset 49152");
  expect_hop(DamagedWorld(true).flip(Way::kToReducer, 64 + 16384 + 3, 100000),
             "message 2, 16384 bytes at offset 0");
  expect_hop(DamagedWorld(true).flip(Way::kToReducer, 17, 100000), "a header");
}

TEST(Checksums, ABitFlippedOnItsWayToAWorkerIsToldToEveryRank) {
  expect_hop(DamagedWorld(true).flip(Way::kToWorker, 32 + 1000, 100000),
             "message 2, 16384 bytes at offset 0");
  // Every block but the last is still answered while the message is being sent.
  expect_hop(DamagedWorld(true, 64 << 10).flip(Way::kToWorker, 32 + 1000, 600000),
             "message 2, 16384 bytes at offset 0");
  expect_hop(DamagedWorld(true).flip(Way::kToWorker, 24 + 2, 100000),
             "message 2, 16384 bytes at offset 0");  // the sum
}

TEST(Checksums, WithoutThemAFlippedBitIsAWrongSumThatNobodyNotices) {
  DamagedWorld w(false);
  for (const std::string& e : w.flip(Way::kToReducer, 64 + 1000, 100000, 1)) EXPECT_EQ(e, "");
  EXPECT_EQ(w.wrong, 3);  // one element on each rank
}

TEST(Checksums, RanksThatDifferAreNamed) {
  LogCapture log;
  CollnetWorld world(1);
  auto comms = world.connect(2, [&](int rank) {
    plugin::Options o = world.options();
    o.checksums = rank == 1;
    return o;
  });
  for (auto& c : comms) {
    ASSERT_TRUE(c) << c.error().text();
    EXPECT_EQ(*c, nullptr);  // the ring, on both
  }
  EXPECT_TRUE(has(log.all(), "FANIN_CHECKSUM=") && has(log.all(), "must be the same on all ranks"))
      << log.all();
}

TEST(Checksums, UnknownWishesAreRefused) {
  CollnetWorld world(1, 1);
  wire::Hello h = RawWorker::hello(RawWorker::session(1), 0, 1);
  h.capabilities = 4;
  RawWorker w(world.reducers[0]->address());
  EXPECT_EQ(w.greet(h).refusal, wire::Refusal::kMalformed);
  EXPECT_TRUE(has(w.refusal(), "upgrade the reducer")) << w.refusal();
}

// A reducer of before checksums admits whoever asks for them, and says nothing of them.
TEST(Checksums, AReducerThatDoesNotKnowThemIsNotUsed) {
  LogCapture log;
  Fd listener = *tcp::listen_on(tcp::Address::loopback(0));
  const tcp::Address at = *tcp::local_address(listener.get());
  std::thread old([&] {
    for (const uint32_t wish : {wire::kAsk, wire::kChecksums}) {
      pollfd p{listener.get(), POLLIN, 0};
      if (::poll(&p, 1, 10000) != 1) return;
      Fd fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      wire::Hello h;
      EXPECT_EQ(::recv(fd.get(), &h, sizeof h, MSG_WAITALL), static_cast<ssize_t>(sizeof h));
      EXPECT_EQ(h.capabilities, wish);
      wire::Welcome w{};
      w.preamble = {wire::kMagic, wire::kVersion, sizeof w};
      w.refusal = wish == wire::kAsk ? wire::Refusal::kAnswer : wire::Refusal::kNone;
      w.lanes = 1;
      w.block_bytes = 65536;
      w.window_blocks = 4;
      EXPECT_EQ(::send(fd.get(), &w, sizeof w, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof w));
      char sink[64];
      while (::recv(fd.get(), sink, sizeof sink, 0) > 0) {
      }
    }
  });
  cn::JoinRequest request;
  request.window = 1 << 20;
  request.checksums = true;
  auto joined = cn::join_pool({{"old:4000", {at}, ""}}, request, Deadline::after(milliseconds(5000)));
  old.join();
  ASSERT_TRUE(joined);
  EXPECT_TRUE((*joined)[0].lanes.empty());
  EXPECT_TRUE(has((*joined)[0].why, "upgrade the reducer")) << (*joined)[0].why;
}

TEST(Checksums, SumsKnowTheirPlace) {
  const char data[16] = "fifteen letters";
  EXPECT_NE(part_sum(1, 0, data, 16), part_sum(1, 64, data, 16));
  EXPECT_NE(part_sum(1, 0, data, 16), part_sum(2, 0, data, 16));
  wire::ResultHeader h{};
  const uint64_t sum = frame_sum(h, data, 16);
  h.offset = 64;
  EXPECT_NE(frame_sum(h, data, 16), sum);
  EXPECT_EQ(sums_text(1, 0xabc), "sent with checksum 0000000000000001, arrived with 0000000000000abc");
}

}  // namespace
}  // namespace fanin
