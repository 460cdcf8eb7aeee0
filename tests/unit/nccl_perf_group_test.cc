// Processes of a run meet, exchange and fail together. They are threads here; the connections are real.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <future>

#include "perf/nccl_perf/group.h"
#include "perf/nccl_perf/packing.h"
#include "perf/nccl_perf/rendezvous.h"
#include "perf/nccl_perf/team.h"
#include "transport/tcp/socket.h"

namespace fanin::nccl_perf {
namespace {

constexpr std::chrono::seconds kLimit{20};

class NcclPerfGroup : public testing::Test {
 protected:
  void SetUp() override {
    Result<Fd> fd = tcp::listen_on(tcp::Address::loopback(0));
    ASSERT_TRUE(fd);
    meet_ = {"127.0.0.1", tcp::local_address(fd->get())->port()};
    listener_ = *std::move(fd);
  }

  // Runs one body per process, each with its group, until all have ended.
  void together(int processes, const std::function<void(std::unique_ptr<Group>)>& body) {
    std::vector<std::future<void>> all;
    for (int p = 0; p < processes; p++)
      all.push_back(std::async(std::launch::async, [=, this] { body(group(p, processes)); }));
    for (auto& f : all) f.get();
  }

  std::unique_ptr<Group> group(int process, int processes) {
    const Membership self{static_cast<uint32_t>(process), static_cast<uint32_t>(processes), 7};
    std::vector<Peer> peers;
    if (process == 0) {
      peers = *await_peers(listener_, self, Deadline::after(kLimit));
    } else {
      peers.push_back(*join(meet_, self, Deadline::after(kLimit)));
    }
    return *Group::make(process, processes, std::move(peers));
  }

  Fd stranger(const std::string& says) {
    Fd fd = *tcp::start_connect(tcp::Address::loopback(meet_.port));
    pollfd p{fd.get(), POLLOUT, 0};
    poll(&p, 1, 5000);
    if (!says.empty()) (void)!send(fd.get(), says.data(), says.size(), MSG_NOSIGNAL);
    return fd;
  }

  Fd listener_;
  tcp::HostPort meet_;
};

TEST_F(NcclPerfGroup, ExchangeKeepsOrderOverManyRounds) {
  together(4, [](std::unique_ptr<Group> g) {
    for (int round = 0; round < 50; round++) {
      const std::string mine = std::to_string(g->process()) + "/" + std::to_string(round) +
                               std::string(static_cast<size_t>(round * 100), 'x');
      const auto all = g->exchange(mine);
      ASSERT_TRUE(all);
      ASSERT_EQ(all->size(), 4u);
      for (size_t p = 0; p < 4; p++)
        EXPECT_EQ((*all)[p].substr(0, (*all)[p].find('x')), std::to_string(p) + "/" + std::to_string(round));
    }
    EXPECT_FALSE(g->failed());
  });
}

TEST_F(NcclPerfGroup, StrangersDisturbNothing) {
  const Fd scrape = stranger("GET /metrics HTTP/1.0\r\n\r\n"), silent = stranger(""), gone = stranger("fan");
  stranger("").reset();
  together(2, [](std::unique_ptr<Group> g) { EXPECT_TRUE(g->exchange("here")); });
}

TEST_F(NcclPerfGroup, FailureReachesAllWithItsText) {
  together(3, [](std::unique_ptr<Group> g) {
    if (g->process() == 1) g->fail("rank 1: the reducer is gone");
    EXPECT_FALSE(g->exchange("never complete"));
    EXPECT_TRUE(g->failed());
    EXPECT_EQ(g->failure(), "rank 1: the reducer is gone");
    EXPECT_EQ(g->reports(), g->process() == 0);
  });
}

TEST_F(NcclPerfGroup, DeathOfAProcessIsNoticed) {
  std::promise<void> joined;
  auto casualty = std::async(std::launch::async, [&] {
    Peer p = *join(meet_, {2, 3, 7}, Deadline::after(kLimit));
    joined.get_future().wait();  // dropped without a goodbye, as by SIGKILL
  });
  auto survivor = std::async(std::launch::async, [&] {
    std::unique_ptr<Group> g = group(1, 3);
    EXPECT_FALSE(g->exchange(""));
    EXPECT_NE(g->failure().find("process 2 is gone"), std::string::npos) << g->failure();
  });
  std::unique_ptr<Group> g = group(0, 3);
  joined.set_value();
  EXPECT_FALSE(g->exchange(""));
  EXPECT_NE(g->failure().find("process 2 is gone"), std::string::npos) << g->failure();
  survivor.get();
  casualty.get();
}

TEST_F(NcclPerfGroup, OtherOptionsAreNamed) {
  auto other = std::async(std::launch::async, [&] {
    return join(meet_, {1, 2, 8}, Deadline::after(kLimit));
  });
  const auto peers = await_peers(listener_, {0, 2, 7}, Deadline::after(kLimit));
  ASSERT_FALSE(peers);
  EXPECT_EQ(peers.error().code(), Errc::kInvalidUsage);
  EXPECT_NE(peers.error().text().find("other options"), std::string::npos) << peers.error().text();
  EXPECT_FALSE(other.get());
}

TEST_F(NcclPerfGroup, WaitingEndsAtTheDeadline) {
  const auto peers = await_peers(listener_, {0, 3, 7}, Deadline::after(std::chrono::milliseconds(50)));
  ASSERT_FALSE(peers);
  EXPECT_NE(peers.error().text().find("2 of 3"), std::string::npos) << peers.error().text();
  listener_.reset();
  const auto hub = join(meet_, {1, 3, 7}, Deadline::after(std::chrono::milliseconds(50)));
  ASSERT_FALSE(hub);
  EXPECT_NE(hub.error().text().find(std::to_string(meet_.port)), std::string::npos) << hub.error().text();
}

TEST_F(NcclPerfGroup, TeamSpansThreadsAndProcesses) {
  together(2, [](std::unique_ptr<Group> g) {
    Team team(*g, 3);
    EXPECT_EQ(team.nranks(), 6);
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; t++)
      threads.emplace_back([&, t] {
        for (int round = 0; round < 20; round++) {
          const auto all = team.exchange(t, team.rank_of(t) + round * 10.0);
          ASSERT_TRUE(all);
          ASSERT_EQ(all->size(), 6u);
          for (size_t r = 0; r < 6; r++) EXPECT_EQ((*all)[r], static_cast<double>(r) + round * 10.0);
        }
      });
    for (auto& t : threads) t.join();
  });
}

TEST_F(NcclPerfGroup, TeamFailsWhileThreadsWait) {
  std::unique_ptr<Group> g = *Group::make(0, 1, {});
  Team team(*g, 2);
  auto waiting = std::async(std::launch::async, [&] { return team.barrier(0); });
  team.fail("rank 1: broken");
  const Status s = waiting.get();
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().text(), "rank 1: broken");
}

TEST(NcclPerfPacking, RoundTripsAndRejects) {
  const std::vector<std::string> texts{"", "a", std::string(300, '\0'), "end"};
  EXPECT_EQ(unpack(pack(texts)), texts);
  std::string cut = pack(texts);
  cut.pop_back();
  EXPECT_FALSE(unpack(cut));
  EXPECT_FALSE(unpack("abc"));
}

}  // namespace
}  // namespace fanin::nccl_perf
