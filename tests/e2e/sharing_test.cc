// One pool, many users: jobs side by side, many communicators of one process from many threads.
#include <gtest/gtest.h>

#include <thread>

#include "tests/support/collnet_rank.h"
#include "tests/support/process.h"
#include "transport/tcp/socket.h"

namespace fanin::test {
namespace {

TEST(Sharing, TwoJobsOnOnePool) {
  std::vector<ReducerProcess> pool;
  for (int i = 0; i < 2; i++) pool.emplace_back(2);
  RankProcesses::Env env = {{"FANIN_REDUCERS", pool_of(pool)}};
  auto job = [](uint64_t seed, DType type, size_t bytes) {
    return [=](Rank& rank) {
      std::vector<CollnetRank::Case> cases;
      for (uint64_t i = 0; i < 10; i++) cases.push_back({.type = type, .bytes = bytes, .seed = seed + i});
      return run_cases(rank, cases);
    };
  };
  RankProcesses first(3, env, job(0, DType::kF32, 1 << 20));
  RankProcesses second(2, env, job(5000, DType::kBF16, 300'000));
  for (const Outcome& o : first.wait(milliseconds(30000))) EXPECT_EQ(o.failure, "");
  for (const Outcome& o : second.wait(milliseconds(30000))) EXPECT_EQ(o.failure, "");
}

// NCCL has a progress thread per communicator and uses one library for all of them.
TEST(Sharing, ManyCommunicatorsFromManyThreads) {
  std::vector<ReducerProcess> pool;
  for (int i = 0; i < 2; i++) pool.emplace_back(2);
  constexpr int kRanks = 2, kComms = 6;
  // A rendezvous for each communicator, so that threads need not agree on an order.
  std::vector<Fd> listeners;
  std::vector<tcp::Address> roots;
  for (int c = 0; c < kComms; c++) {
    listeners.push_back(std::move(*tcp::listen_on(tcp::Address::loopback(0))));
    roots.push_back(*tcp::local_address(listeners.back().get()));
  }
  std::string failures = run_ranks(kRanks, {{"FANIN_REDUCERS", pool_of(pool)}}, [&](Rank& rank) {
    std::vector<std::string> failure(kComms);
    std::vector<std::thread> threads;
    for (size_t c = 0; c < kComms; c++)
      threads.emplace_back([&, c] {
        auto group = rank.rank() == 0
                         ? perf::Group::host(listeners[c], kRanks, milliseconds(20000))
                         : perf::Group::join({roots[c]}, rank.rank(), kRanks, milliseconds(20000));
        if (!group) {
          failure[c] = group.error().text();
          return;
        }
        CollnetRank r(512 << 10);
        failure[c] = r.connect(*group);
        for (uint64_t i = 0; i < 10 && failure[c].empty(); i++)
          failure[c] =
              r.run({.coll = static_cast<Coll>(c % 3), .bytes = (c + 1) * 65536, .seed = 1000 * c + i});
        std::string closing = r.close();
        if (failure[c].empty()) failure[c] = closing;
      });
    for (auto& t : threads) t.join();
    std::string all;
    for (const std::string& f : failure) all += f;
    return all;
  });
  EXPECT_EQ(failures, "");
}

}  // namespace
}  // namespace fanin::test
