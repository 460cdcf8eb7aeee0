// The ranks' rendezvous: exchange, strangers, disagreement, a rank that dies.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <thread>

#include "perf/common/group.h"
#include "transport/tcp/socket.h"

namespace fanin::perf {
namespace {

using std::chrono::milliseconds;

struct Root {
  Fd listener = std::move(*tcp::listen_on(tcp::Address::loopback(0)));
  tcp::Address address = *tcp::local_address(listener.get());
};

// body(group) on n threads, each a rank; returns each rank's error text, "" for none.
template <class Body>
std::vector<std::string> as_ranks(int n, milliseconds patience, Body body) {
  Root root;
  std::vector<std::string> errors(static_cast<size_t>(n));
  std::vector<std::thread> threads;
  for (int r = 0; r < n; r++)
    threads.emplace_back([&, r] {
      auto group =
          r == 0 ? Group::host(root.listener, n, patience) : Group::join({root.address}, r, n, patience);
      Status s = group ? body(*group) : Status(group.error());
      if (!s) errors[static_cast<size_t>(r)] = s.error().text();
    });
  for (auto& t : threads) t.join();
  return errors;
}

TEST(Group, GathersInRankOrder) {
  auto errors = as_ranks(5, milliseconds(5000), [](Group& g) -> Status {
    for (int round = 0; round < 20; round++) {
      auto all = g.all_gather_value(g.rank() * 100 + round);
      if (!all) return all.error();
      for (int r = 0; r < 5; r++)
        if ((*all)[static_cast<size_t>(r)] != r * 100 + round) return Error(Errc::kInternal, "wrong value");
    }
    return g.barrier();
  });
  for (auto& e : errors) EXPECT_EQ(e, "");
}

TEST(Group, LostRankIsNoticedByAll) {
  auto errors = as_ranks(3, milliseconds(5000), [](Group& g) -> Status {
    if (g.rank() == 1) {
      Group gone = std::move(g);
      return {};
    }
    return g.barrier();
  });
  EXPECT_NE(errors[0].find("rank 1 is gone"), std::string::npos) << errors[0];
}

TEST(Group, MissingRankIsNamed) {
  Root root;
  auto g = Group::host(root.listener, 3, milliseconds(100));
  ASSERT_FALSE(g);
  EXPECT_NE(g.error().text().find("rank(s) 1, 2 did not answer in time"), std::string::npos)
      << g.error().text();
}

TEST(Group, DifferentCountsAreAnError) {
  Root root;
  std::optional<Error> seen;
  std::thread host([&] {
    auto g = Group::host(root.listener, 3, milliseconds(5000));
    if (!g) seen = g.error();
  });
  auto g = Group::join({root.address}, 1, 2, milliseconds(5000));
  host.join();
  EXPECT_FALSE(g);
  ASSERT_TRUE(seen);
  EXPECT_NE(seen->text().find("2 ranks, rank 0 with 3"), std::string::npos) << seen->text();
}

TEST(Group, StrangerDisturbsNobody) {
  Root root;
  Fd stranger = std::move(*tcp::start_connect(root.address));
  const char scrape[] = "GET /metrics HTTP/1.1\r\n\r\n";
  std::thread other([&] {
    auto g = Group::join({root.address}, 1, 2, milliseconds(5000));
    EXPECT_TRUE(g);
  });
  // Loopback connects at once; the request is in the queue before the host reads.
  ::send(stranger.get(), scrape, sizeof scrape, MSG_NOSIGNAL);
  auto g = Group::host(root.listener, 2, milliseconds(5000));
  EXPECT_TRUE(g);
  other.join();
}

}  // namespace
}  // namespace fanin::perf
