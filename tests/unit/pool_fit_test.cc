// Whether a pool is too small, and in which words: the decision alone, and what a session's verdict makes of it.
#include "topology/pool_fit.h"

#include <gtest/gtest.h>

#include "plugin/collnet/pool_warning.h"
#include "plugin/collnet/rails.h"
#include "tests/support/collnet_world.h"
#include "tests/support/log_capture.h"
#include "topology/rate.h"

namespace fanin {
namespace {

using plugin::collnet::carried_together;
using plugin::collnet::fit_of;
using plugin::collnet::Joined;
using plugin::collnet::Verdict;
constexpr double G = 1e9;

TEST(PoolFit, SaysFiguresAndRemedy) {
  const PoolFit fit{3, 100 * G, 2, 20 * G};
  EXPECT_TRUE(fit.loses());
  EXPECT_EQ(
      fit.text(),
      "the pool is too small: 2 reducers have 20 Gbit/s together, 6.7 % of what 3 nodes with 100 Gbit/s "
      "each have; below 75.0 % a ring is faster");
  EXPECT_EQ(fit.remedy(), "23 such reducers beat the ring, 30 have the nodes' bandwidth");
  EXPECT_EQ(fit.command(), "fanin-topo plan --workers 3 --worker-bw 100G --reducer-bw 10G --reducers 2");
}

TEST(PoolFit, BreakEvenIsNotTooSmall) {
  for (const PoolFit& fit : {PoolFit{3, 100 * G, 3, 225 * G}, PoolFit{5, 100 * G, 10, 320 * G}}) {
    EXPECT_FALSE(fit.loses());
    EXPECT_TRUE(fit.below_the_nodes());
    EXPECT_TRUE(fit.text().starts_with(std::to_string(fit.reducers) + " reducers have ")) << fit.text();
  }
  EXPECT_TRUE((PoolFit{5, 100 * G, 9, 288 * G}).loses());
  EXPECT_FALSE((PoolFit{5, 100 * G, 16, 512 * G}).below_the_nodes());
}

TEST(PoolFit, TwoNodesAndOneReducer) {
  const PoolFit fit{2, 25 * G, 1, 33.3 * G};
  EXPECT_TRUE(fit.loses());
  EXPECT_EQ(fit.text("eth0 25 Gbit/s"),
            "the pool is too small: 1 reducer has 33.3 Gbit/s, 66.6 % of what 2 nodes with 25 Gbit/s each "
            "(eth0 25 Gbit/s) have; below 100.0 % a ring is faster");
  EXPECT_EQ(fit.remedy(), "no pool beats a ring of two nodes, 2 have the nodes' bandwidth");
  EXPECT_EQ(fit.command(), "fanin-topo plan --workers 2 --worker-bw 25G --reducer-bw 33.3G --reducers 1");
}

// What is pasted from the line says what the line says.
TEST(PoolFit, TheCommandsRatesAreRates) {
  const std::string command = PoolFit{3, 950e6, 3, 100 * G}.command();
  EXPECT_NE(command.find("--worker-bw 950M --reducer-bw 33.3333G"), std::string::npos) << command;
  EXPECT_NEAR(*parse_rate("33.3333G"), 100 * G / 3, 1e5);
}

wire::ReducerId id(size_t n) {
  wire::ReducerId i{};
  i[0] = static_cast<std::remove_reference_t<decltype(i[0])>>(n + 1);
  return i;
}

// Reducers that rank 0 sees with these speeds on its rail and on all rails of its node.
struct Seen {
  Verdict verdict;
  std::vector<Joined> joined;
  Seen(uint32_t node_mbps, const std::vector<uint32_t>& weights, const std::vector<uint32_t>& rail,
       const std::vector<uint32_t>& node) {
    verdict.use = true;
    verdict.node_mbps = node_mbps;
    verdict.weights = weights;
    for (size_t i = 0; i < rail.size(); ++i) {
      verdict.reducers.push_back(id(i));
      Joined& j = joined.emplace_back();
      j.id = id(i);
      j.mbps = rail[i];
      j.node_mbps = node[i];
    }
  }
  std::optional<PoolFit> fit(uint32_t nranks = 3) const { return fit_of(verdict, joined, nranks); }
};

TEST(FitOf, SumsReducersOfUnequalSpeed) {
  const auto fit =
      Seen(100000, {100000, 25000, 100000}, {100000, 25000, 100000}, {100000, 25000, 100000}).fit();
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->nodes, 3u);
  EXPECT_DOUBLE_EQ(fit->node, 100 * G);
  EXPECT_EQ(fit->reducers, 3u);
  EXPECT_DOUBLE_EQ(fit->pool, 225 * G);
  EXPECT_FALSE(fit->loses());
  EXPECT_TRUE(Seen(100000, {100000, 25000}, {100000, 25000}, {100000, 25000}).fit()->loses());
}

// Four rails of 100G on each node. Reducers with four NICs have as much; those with one that all rails share do not.
TEST(FitOf, RailsCountTogether) {
  const std::vector<uint32_t> three(3, 100000), four_each(3, 400000);
  EXPECT_FALSE(Seen(400000, three, three, four_each).fit()->loses());
  EXPECT_DOUBLE_EQ(Seen(400000, three, three, four_each).fit()->pool, 1200 * G);
  EXPECT_TRUE(Seen(400000, three, three, three).fit()->loses());
}

// Another rank's way to the reducers is half as fast.
TEST(FitOf, TheSlowestRanksWayCounts) {
  const auto fit =
      Seen(100000, {50000, 50000, 50000}, {100000, 100000, 100000}, {100000, 100000, 100000}).fit();
  EXPECT_DOUBLE_EQ(fit->pool, 150 * G);
  EXPECT_TRUE(fit->loses());
}

TEST(FitOf, NothingIsSaidOfUnknownSpeeds) {
  EXPECT_FALSE(Seen(0, {100000}, {100000}, {100000}).fit());
  EXPECT_FALSE(Seen(100000, {}, {100000}, {100000}).fit());
  EXPECT_FALSE(Seen(100000, {100000}, {0}, {100000}).fit());
  EXPECT_FALSE(Seen(100000, {100000}, {100000}, {0}).fit());
  EXPECT_FALSE(Seen(100000, {100000}, {100000}, {100000}).fit(1));
}

tcp::Address at(const std::string& host) { return tcp::Address::numeric(host, 4000).value(); }

TEST(CarriedTogether, ASharedAddressCountsOnce) {
  EXPECT_EQ(carried_together({{{at("10.0.0.9"), 100}}, {{at("10.0.1.9"), 25}}}), 125u);
  EXPECT_EQ(carried_together({{{at("10.0.0.9"), 100}}, {{at("10.0.0.9"), 100}}}), 100u);
  // Two NICs of the reducer in one subnet: one rail takes both alike, another the fast one alone.
  EXPECT_EQ(carried_together({{{at("10.0.0.9"), 60}, {at("10.0.0.8"), 60}}, {{at("10.0.0.9"), 100}}}), 160u);
  EXPECT_EQ(carried_together({{{at("10.0.0.9"), 100}}, {{at("10.0.1.9"), 0}}}), 0u);
}

// Sessions over loopback with reducers that tell speeds, and ranks that are told theirs.
class Warning : public testing::Test {
 protected:
  size_t warnings(int nranks, std::vector<std::optional<double>> worker_bw,
                  const std::vector<uint32_t>& mbps) {
    test::CollnetWorld world(0);
    for (uint32_t m : mbps) {
      ReducerConfig c;
      c.listen = tcp::Address::loopback(0);
      c.lanes = 2;
      c.rails = {{tcp::Address::loopback(0), m}};
      auto r = Reducer::start(c);
      if (!r) abort();
      world.reducers.push_back(std::move(*r));
    }
    test::LogCapture log;
    for (auto& r : world.connect(nranks, [&](int rank) {
           test::Options o = world.options();
           o.worker_bw = worker_bw[static_cast<size_t>(rank) % worker_bw.size()];
           return o;
         }))
      EXPECT_TRUE(r && *r) << log.all();
    said_ = log.all();
    return log.count(NCCL_LOG_WARN);
  }
  // A line is said once in a process, however often its tests run.
  static int next() {
    static int n = 0;
    return ++n;
  }
  std::string said_;
};

TEST_F(Warning, OneForAPoolThatIsTooSmall) {
  const double rate = 100 * G * next();
  const PoolFit three{3, rate, 2, 20 * G};
  EXPECT_EQ(warnings(3, {rate}, {10000, 10000}), 1u) << said_;
  EXPECT_NE(said_.find(three.text("FANIN_WORKER_BW") + "; " + three.remedy() + " (" + three.command() + ")"),
            std::string::npos)
      << said_;
  EXPECT_EQ(warnings(3, {rate}, {10000, 10000}), 0u) << "the same of another communicator of this process";
  EXPECT_EQ(warnings(4, {rate}, {10000, 10000}), 1u) << "another line";
}

TEST_F(Warning, NoneForAPoolThatIsLargeEnoughOrUnknown) {
  EXPECT_EQ(warnings(3, {100 * G}, {200000, 25000}), 0u) << said_;
  EXPECT_EQ(warnings(3, {100 * G}, {10000, 0}), 0u) << said_;
  EXPECT_EQ(warnings(3, {0}, {10000, 10000}), 0u) << said_;
  EXPECT_EQ(warnings(3, {std::nullopt}, {10000, 10000}), 0u) << "loopback is no NIC: " << said_;
  EXPECT_EQ(warnings(3, {100 * G, 0}, {10000, 10000}), 0u) << "one node that does not know: " << said_;
  EXPECT_EQ(warnings(1, {100 * G}, {10000}), 0u) << said_;
}

// The slowest node limits ring and pool.
TEST_F(Warning, OfNodesOfUnequalSpeedTheSlowestCounts) {
  EXPECT_EQ(warnings(3, {400 * G, 10 * G}, {25000}), 0u) << said_;
  const double slow = 25 * G * next();
  EXPECT_EQ(warnings(3, {2 * slow, slow}, {25000}), 1u) << said_;
  EXPECT_NE(said_.find(" 3 nodes with " + rate_text(slow) + " each (the slowest of them) have"),
            std::string::npos)
      << said_;
}

}  // namespace
}  // namespace fanin
