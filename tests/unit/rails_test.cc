// Which address of a reducer the lanes of a NIC use, in the networks there are: subnets of their own, routed ones, clouds
// that show /32; and what speeds make of lanes' weights.
#include "plugin/collnet/rails.h"

#include <gtest/gtest.h>

#include <map>

#include "plugin/collnet/plan.h"
#include "tests/support/collnet_calls.h"
#include "tests/support/collnet_world.h"
#include "tests/support/log_capture.h"

namespace fanin {
namespace {

using plugin::collnet::lane_weights;
using plugin::collnet::LaneTargets;
using plugin::collnet::Nic;
using plugin::collnet::SourceOf;
using plugin::collnet::Target;
using plugin::collnet::targets_to;
using tcp::Address;
using tcp::Rail;

Address at(const std::string& host) { return Address::numeric(host, 4000).value(); }
Address mask(const std::string& host) { return Address::numeric(host, 0).value(); }
Nic nic(const std::string& address, const std::string& netmask) { return {at(address), mask(netmask)}; }
// The kernel's choice for everything, but what is named.
SourceOf routes(const std::string& otherwise, const std::map<std::string, std::string>& named = {}) {
  return [=](const Address& to) -> std::optional<Address> {
    const auto it = named.find(to.host());
    return at(it == named.end() ? otherwise : it->second);
  };
}
std::string text(const std::vector<Target>& targets) {
  std::string out;
  for (const Target& t : targets)
    out += (out.empty() ? "" : " ") + t.to.host() + (t.source ? "" : "*") +
           (t.patience.count() == 2000 ? "" : "?");
  return out;
}
const Nic kNic = nic("10.0.0.1", "255.255.255.0");

TEST(Targets, OwnSubnetFirst) {
  EXPECT_EQ(text(targets_to(kNic, {at("10.0.1.9"), at("10.0.0.9")}, routes("10.0.0.1"))),
            "10.0.0.9 10.0.1.9");
  EXPECT_EQ(text(targets_to(nic("fd00::1", "ffff:ffff:ffff:ffff::"), {at("fd00:1::9"), at("fd00::9")},
                            routes("fd00::1"))),
            "fd00::9 fd00:1::9");
}

// Another NIC is the kernel's choice: a short look from this one, then as the kernel likes.
TEST(Targets, AnotherWayLast) {
  EXPECT_EQ(text(targets_to(kNic, {at("10.0.1.9"), at("10.0.0.9"), at("10.0.2.9")},
                            routes("10.0.1.1", {{"10.0.0.9", "10.0.0.1"}, {"10.0.2.9", "10.0.0.1"}}))),
            "10.0.0.9 10.0.1.9? 10.0.2.9 10.0.1.9*");
}

TEST(Targets, WithoutNicOrFamily) {
  EXPECT_EQ(text(targets_to(std::nullopt, {at("10.0.1.9")}, routes("10.0.0.1"))), "10.0.1.9*");
  EXPECT_EQ(text(targets_to(kNic, {at("fd00::9")}, routes("fd00::1"))), "fd00::9*");
  EXPECT_EQ(text(targets_to(Nic{at("10.0.0.1"), {}}, {at("10.0.0.9")}, routes("10.0.0.1"))), "10.0.0.9");
}

TEST(Lanes, UseTheNicsSubnetWhateverAnswered) {
  const LaneTargets t(kNic, {at("10.0.1.9"), std::nullopt}, {}, {at("10.0.1.9")},
                      {{at("10.0.1.9"), 25000}, {at("10.0.0.9"), 100000}},
                      routes("10.0.1.1", {{"10.0.0.9", "10.0.0.1"}}));
  EXPECT_EQ(text(t.of(0)), "10.0.0.9 10.0.1.9* 10.0.1.9?");
  EXPECT_EQ(text(t.of(5)), text(t.of(0)));
  EXPECT_EQ(t.mbps(), 100000u);
}

TEST(Lanes, AreSharedOutOverEqualNics) {
  const std::vector<Rail> told = {{at("10.0.0.9"), 100000}, {at("10.0.0.8"), 100000}, {at("10.0.0.7"), 1000}};
  const LaneTargets t(kNic, {at("10.0.0.9"), at("10.0.0.1")}, {}, {at("10.0.0.9")}, told, routes("10.0.0.1"));
  EXPECT_EQ(text(t.of(0)), "10.0.0.9 10.0.0.8 10.0.0.7");
  EXPECT_EQ(text(t.of(1)), "10.0.0.8 10.0.0.9 10.0.0.7");
  EXPECT_EQ(t.mbps(), 200000u);
}

TEST(Lanes, TakeSlowerNicsOnlyWhereTheyCarryMoreTogether) {
  auto carried = [](std::vector<uint32_t> speeds) {
    std::vector<Rail> told;
    for (size_t i = 0; i < speeds.size(); ++i)
      told.push_back({at("10.0.0.1" + std::to_string(i)), speeds[i]});
    return LaneTargets(kNic, {at("10.0.0.10"), at("10.0.0.1")}, {}, {}, told, routes("10.0.0.1")).mbps();
  };
  EXPECT_EQ(carried({100, 40}), 100u);
  EXPECT_EQ(carried({40, 100}), 100u);
  EXPECT_EQ(carried({100, 60}), 120u);
  EXPECT_EQ(carried({100, 60, 50, 10}), 150u);
  EXPECT_EQ(carried({100, 0}), 0u);  // unknown: both, and no weight
}

TEST(Lanes, StayWithWhatAnsweredWhereNothingIsNearer) {
  const LaneTargets t(kNic, {at("192.168.7.9"), at("10.0.0.1")}, {}, {at("192.168.7.9")},
                      {{at("192.168.7.9"), 50000}, {at("172.17.0.1"), 0}}, routes("10.0.0.1"));
  EXPECT_EQ(text(t.of(0)), "192.168.7.9 172.17.0.1");
  EXPECT_EQ(t.mbps(), 50000u);
}

// A cloud that gives each NIC a /32 and a route per rail.
TEST(Lanes, FollowRoutesWhereSubnetsDoNotShow) {
  const Nic second = nic("10.0.1.1", "255.255.255.255");
  const LaneTargets t(second, {at("10.0.0.9"), std::nullopt}, {}, {at("10.0.0.9")},
                      {{at("10.0.0.9"), 100000}, {at("10.0.1.9"), 100000}},
                      routes("10.0.0.1", {{"10.0.1.9", "10.0.1.1"}}));
  EXPECT_EQ(text({t.of(0)[0]}), "10.0.1.9");
  EXPECT_EQ(text({t.of(0)[1]}), "10.0.0.9*");
}

TEST(Lanes, DoNotGoBackToAnAddressThatWasDead) {
  const LaneTargets t(kNic, {at("10.0.1.9"), std::nullopt}, {at("10.0.0.9")},
                      {at("10.0.0.9"), at("10.0.1.9")}, {{at("10.0.0.9"), 100000}, {at("10.0.1.9"), 25000}},
                      routes("10.0.1.1"));
  EXPECT_EQ(text({t.of(0)[0]}), "10.0.1.9*");
  EXPECT_EQ(t.mbps(), 25000u);
}

// A relay or a forwarded port is not gone round, unless somebody says so.
TEST(Told, HoldsOnlyForWhoReachedTheReducerItself) {
  const std::string text = "10.0.0.9:4000 100000\n10.0.1.9:4000 100000\n";
  EXPECT_EQ(plugin::collnet::told_by(text, at("10.0.1.9")).size(), 2u);
  EXPECT_TRUE(plugin::collnet::told_by(text, at("10.0.0.8")).empty());
  Address forwarded = at("10.0.0.9");
  forwarded.set_port(30400);
  EXPECT_TRUE(plugin::collnet::told_by(text, forwarded).empty());
  EXPECT_EQ(plugin::collnet::told_by("chosen\n" + text, forwarded).size(), 2u);
}

TEST(RailsText, ReadsBack) {
  const std::vector<Rail> rails = {{at("10.0.0.9"), 100000}, {at("fd00::9"), 0}};
  EXPECT_EQ(tcp::rails_text(rails, 1000), "10.0.0.9:4000 100000\n[fd00::9]:4000 0\n");
  const std::vector<Rail> again = tcp::parse_rails(tcp::rails_text(rails, 1000));
  ASSERT_EQ(again.size(), 2u);
  EXPECT_EQ(again[0].mbps, 100000u);
  EXPECT_EQ(again[1].address, rails[1].address);
  EXPECT_EQ(tcp::rails_text(rails, 25), "10.0.0.9:4000 100000\n");
}

TEST(RailsText, WhatCannotBeReadIsLeftOut) {
  for (const char* bad :
       {"", "\n\n", "10.0.0.9:4000", "10.0.0.9 5", "10.0.0.9:0 5", "10.0.0.9:4000 x", "10.0.0.9:4000 -1",
        "name:4000 5", "10.0.0.9:4000 99999999999", "10.0.0.9:4000 5 6"})
    EXPECT_TRUE(tcp::parse_rails(bad).empty()) << bad;
  EXPECT_EQ(tcp::parse_rails("x\n10.0.0.9:4000 5\ny").size(), 1u);
  std::string many;
  for (int i = 0; i < 200; ++i) many += "10.0.0." + std::to_string(i) + ":4000 5\n";
  EXPECT_EQ(tcp::parse_rails(many).size(), tcp::kMaxRails);
}

TEST(LaneWeights, AreTheReducersSharesOverTheirLanes) {
  using Weights = std::vector<uint32_t>;
  EXPECT_EQ(lane_weights({}, {4, 8}), (Weights{1, 1}));
  EXPECT_EQ(lane_weights({100, 100}, {4, 4}), (Weights{1, 1}));
  EXPECT_EQ(lane_weights({100000, 25000}, {4, 4}), (Weights{4, 1}));
  EXPECT_EQ(lane_weights({100000, 100000}, {4, 8}), (Weights{2, 1}));
  EXPECT_EQ(lane_weights({UINT32_MAX, 1}, {1, 256}), (Weights{UINT32_MAX, 1}));
}

// Two reducers, one four times as fast: it sums four fifths.
TEST(Weights, UnequalReducersGetUnequalShares) {
  test::CollnetWorld world(0);
  for (uint32_t mbps : {100000u, 25000u}) {
    ReducerConfig c;
    c.listen = tcp::Address::loopback(0);
    c.lanes = 2;
    c.block_bytes = 16 << 10;
    c.rails = {{tcp::Address::loopback(0), mbps}};
    auto r = Reducer::start(c);
    ASSERT_TRUE(r) << r.error().text();
    world.reducers.push_back(std::move(*r));
  }
  test::LogCapture log;
  std::vector<std::unique_ptr<plugin::collnet::Comm>> comms;
  for (auto& r : world.connect(2, [&](int) { return world.options(); })) {
    ASSERT_TRUE(r && *r) << log.all();
    comms.push_back(std::move(*r));
  }
  constexpr size_t kElements = 1 << 20;
  test::each_rank(2, [&](int rank) {
    std::vector<float> buf(kElements, static_cast<float>(rank + 1));
    auto r = plugin::collnet::iallreduce(comms[static_cast<size_t>(rank)].get(), buf.data(), buf.data(),
                                         buf.size(), DType::kF32, RedOp::kSum);
    ASSERT_TRUE(r && *r);
    test::finish(*r);
    EXPECT_EQ(buf.front(), 3);
    EXPECT_EQ(buf.back(), 3);
  });
  const double fast = static_cast<double>(world.reducers[0]->stats().bytes_reduced),
               slow = static_cast<double>(world.reducers[1]->stats().bytes_reduced);
  EXPECT_EQ(fast + slow, kElements * sizeof(float));
  EXPECT_NEAR(fast / slow, 4, 0.01);
}

}  // namespace
}  // namespace fanin
