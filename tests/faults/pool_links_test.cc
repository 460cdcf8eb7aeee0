// Joining a pool over a link that does not work yet: SYNs (or the answers to them) are dropped, or the host is unreachable.
// Two ranks behind links of their own, the reducer on the host; the way is healed while one of them is connecting.
#include <gtest/gtest.h>

#include <thread>

#include "plugin/collnet/connector.h"
#include "reducer/reducer.h"
#include "tests/faults/network.h"
#include "tests/support/soon.h"

namespace fanin::faults {
namespace {

using plugin::collnet::Joined;
using plugin::collnet::JoinRequest;
using std::chrono::milliseconds;

Network& network() {
  static Network* const n = new Network;
  return *n;
}

struct Outcome {
  std::string why = "nothing";
  size_t lanes = 0;
  milliseconds took{};
};

class PoolLinks : public testing::Test {
 protected:
  void SetUp() override {
    if (!network().links()) GTEST_SKIP() << "no network namespaces: " << network().why_not();
    ReducerConfig c;
    c.listen = *tcp::Address::numeric(Network::kHost, 0);
    c.lanes = 3;
    auto r = Reducer::start(c);
    ASSERT_TRUE(r) << r.error().text();
    reducer_ = *std::move(r);
  }
  void TearDown() override {
    if (network().links()) network().heal();
  }
  // Rank 0 joins from behind its link, which is healed `after`; what came of it.
  Outcome join(milliseconds after, milliseconds deadline) {
    Outcome o;
    std::thread rank([&] {
      network().enter(0);
      JoinRequest request;
      request.session.fill(++session_);
      request.window = 1 << 20;
      const auto began = std::chrono::steady_clock::now();
      auto joined = plugin::collnet::join_pool({{"pool:1", {reducer_->address()}, ""}}, request,
                                               Deadline::after(deadline));
      o.took = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - began);
      if (!joined) {
        o.why = joined.error().text();
        return;
      }
      o.why = (*joined)[0].why;
      o.lanes = (*joined)[0].lanes.size();
      plugin::collnet::leave((*joined)[0].lanes);
    });
    if (after.count() > 0) {
      std::this_thread::sleep_for(after);  // the fault's length
      network().heal();
    }
    rank.join();
    return o;
  }

  std::unique_ptr<Reducer> reducer_;
  uint8_t session_ = 0;
};

TEST_F(PoolLinks, DroppedSynsAreOutlasted) {
  for (Flow way : {Flow::kUp, Flow::kDown}) {
    network().set_loss(0, way, true);
    const Outcome o = join(milliseconds(500), milliseconds(10000));
    EXPECT_EQ(o.lanes, 3u) << o.why;
    EXPECT_GE(o.took, milliseconds(400));
  }
}

TEST_F(PoolLinks, AnUnreachableHostIsOutlasted) {
  network().set_link(0, false);
  const Outcome o = join(milliseconds(500), milliseconds(10000));
  EXPECT_EQ(o.lanes, 3u) << o.why;
  EXPECT_GE(o.took, milliseconds(400));
}

TEST_F(PoolLinks, WhatStaysBrokenIsGivenUpAtTheDeadline) {
  network().set_loss(0, Flow::kUp, true);
  Outcome o = join({}, milliseconds(1000));
  EXPECT_EQ(o.lanes, 0u);
  EXPECT_EQ(o.why, "no answer");
  EXPECT_LT(o.took, test::kSoon);
  network().heal();
  network().set_link(0, false);
  o = join({}, milliseconds(1000));
  EXPECT_EQ(o.lanes, 0u);
  EXPECT_TRUE(o.why.find("unreachable") != std::string::npos || o.why == "no answer") << o.why;
  EXPECT_LT(o.took, test::kSoon);
}

}  // namespace
}  // namespace fanin::faults
