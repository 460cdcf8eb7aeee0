// Exported hosts (tests/topologies), read with hwloc, linked or opened, and where threads would go on them.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <limits>
#include <set>

#include "topology/host/read_host.h"
#include "topology/placement.h"
#include "transport/affinity.h"

namespace fanin {
namespace {

HostView host(const std::string& name) {
  Result<HostView> h = read_host(linked_hwloc(), "tests/topologies/" + name + ".xml");
  if (!h) ADD_FAILURE() << h.error().text();
  return h ? *std::move(h) : HostView{};
}

const HostView::Device& nic(const HostView& h, const std::string& name) {
  for (const HostView::Device& n : h.nics)
    if (n.name == name) return n;
  ADD_FAILURE() << "no " << name;
  return h.nics.at(0);
}

// Every CPU at most once, in all lanes together.
void expect_disjoint(const std::vector<ThreadPlace>& places) {
  std::set<unsigned> seen;
  for (const ThreadPlace& p : places)
    for (unsigned c : p.cpus) EXPECT_TRUE(seen.insert(c).second) << "CPU " << c << " twice";
}

TEST(TwoSockets, EachGpuHasTheNicOnItsSwitch) {
  const HostView h = host("two_sockets_8_gpus_8_nics");
  ASSERT_EQ(h.gpus.size(), 8u);
  ASSERT_EQ(h.nics.size(), 8u);
  EXPECT_EQ(h.cores.size(), 32u);
  EXPECT_EQ(h.numa.size(), 2u);
  EXPECT_EQ(h.cores[0].cpus, (Cpus{0, 32}));
  const std::vector<int> use = nic_of_gpus(h);
  for (size_t g = 0; g < 8; ++g) {
    ASSERT_GE(use[g], 0);
    const HostView::Device& n = h.nics[static_cast<size_t>(use[g])];
    EXPECT_EQ(n.name, "eth" + std::to_string(g));
    EXPECT_EQ(distance(h.gpus[g], n), Distance::kSwitch);
    EXPECT_EQ(n.node, g < 4 ? 0 : 1);
    EXPECT_NEAR(n.pci_rate, 504e9, 1e9);
  }
  EXPECT_EQ(distance(h.gpus[0], nic(h, "eth1")), Distance::kNode);
  EXPECT_EQ(distance(h.gpus[0], nic(h, "eth7")), Distance::kHost);
}

TEST(TwoSockets, LanesTakeCoresOfTheNicsNodeFirst) {
  const HostView h = host("two_sockets_8_gpus_8_nics");
  std::vector<ThreadPlace> p = place_lanes(h, {"eth5"}, 16);
  ASSERT_EQ(p.size(), 16u);
  expect_disjoint(p);
  for (const ThreadPlace& t : p) EXPECT_EQ(t.node, 1);
  EXPECT_EQ(p[0].cpus, (Cpus{16, 48}));
  p = place_lanes(h, {"eth5"}, 20);
  ASSERT_EQ(p.size(), 20u);
  expect_disjoint(p);
  EXPECT_EQ(p[15].node, 1);
  EXPECT_EQ(p[16].node, 0);
}

TEST(TwoSockets, NicsOnBothNodesShareTheLanesOut) {
  const std::vector<ThreadPlace> p = place_lanes(host("two_sockets_8_gpus_8_nics"), {"eth4", "eth0"}, 6);
  ASSERT_EQ(p.size(), 6u);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(p[i].node, i % 2 == 0 ? 1 : 0);
}

TEST(TwoSockets, MoreLanesThanCoresShareTheirNode) {
  const HostView h = host("two_sockets_8_gpus_8_nics");
  const std::vector<ThreadPlace> p = place_lanes(h, {"eth5"}, 64);
  ASSERT_EQ(p.size(), 64u);
  for (size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(p[i].node, i < 32 ? 1 : 0);
    EXPECT_EQ(p[i].cpus.size(), 32u);
  }
  // One core for each lane, but none for anything else.
  EXPECT_EQ(place_lanes(h, {"eth5"}, 32).at(0).cpus.size(), 32u);
  EXPECT_TRUE(place_lanes(h, {"eth5"}, 65).empty());
}

TEST(TwoSockets, IoThreadsStayOnTheNicsNode) {
  const HostView h = host("two_sockets_8_gpus_8_nics");
  const ThreadPlace p = place_io(h, "eth2", 4);
  EXPECT_EQ(p.node, 0);
  EXPECT_EQ(cpus_text(p.cpus), "0-15,32-47");
  EXPECT_TRUE(place_io(h, "eth9", 4).cpus.empty());
  EXPECT_TRUE(place_io(h, "eth2", 16).cpus.empty());  // no room for anything else
}

TEST(PcieBox, AllGpusUseTheOneNic) {
  const HostView h = host("pcie_box_1_nic");
  ASSERT_EQ(h.gpus.size(), 4u);  // not the console
  ASSERT_EQ(h.nics.size(), 1u);
  EXPECT_EQ(nic_of_gpus(h), (std::vector<int>{0, 0, 0, 0}));
  EXPECT_EQ(distance(h.gpus[0], h.nics[0]), Distance::kHost);
  EXPECT_EQ(distance(h.gpus[2], h.nics[0]), Distance::kRoot);
  EXPECT_EQ(cpus_text(place_io(h, "eth0", 1).cpus), "8-15");
  for (const ThreadPlace& p : place_lanes(h, {"eth0"}, 8)) EXPECT_EQ(p.node, 1);
}

TEST(CloudVm, ShowsNothingAndNothingIsForced) {
  const HostView h = host("cloud_vm");
  EXPECT_TRUE(h.gpus.empty());
  EXPECT_TRUE(h.nics.empty());
  EXPECT_EQ(h.cores.size(), 4u);
  EXPECT_TRUE(place_io(h, "eth0", 1).cpus.empty());
  EXPECT_TRUE(place_lanes(h, {"eth0"}, 8).empty());  // as many as there are CPUs
  const std::vector<ThreadPlace> p = place_lanes(h, {"eth0"}, 2);
  ASSERT_EQ(p.size(), 2u);
  EXPECT_TRUE(place_lanes(h, {"eth0"}, 3).empty());  // one core for all else is too few
  expect_disjoint(p);
}

TEST(Container, OnlyItsCoresAreUsed) {
  const HostView h = host("container_half");
  ASSERT_EQ(h.cores.size(), 8u);
  EXPECT_EQ(cpus_text(place_io(h, "eth0", 2).cpus), "8-11");
  EXPECT_TRUE(place_io(h, "eth0", 4).cpus.empty());
  const std::vector<ThreadPlace> p = place_lanes(h, {"eth0"}, 6);
  ASSERT_EQ(p.size(), 6u);
  expect_disjoint(p);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(p[i].node, i < 4 ? 1 : 0);
    EXPECT_TRUE(p[i].cpus[0] < 4 || (p[i].cpus[0] >= 8 && p[i].cpus[0] < 12)) << p[i].cpus[0];
  }
}

// Hardware threads are no cores, what a container hides is not there, and a quota is CPU time.
TEST(LanesByCores, OnePerPhysicalCoreWithinTheQuota) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  EXPECT_EQ(lanes_by_cores(host("two_sockets_8_gpus_8_nics"), kNone), 32u);
  EXPECT_EQ(lanes_by_cores(host("pcie_box_1_nic"), kNone), 16u);
  EXPECT_EQ(lanes_by_cores(host("cloud_vm"), kNone), 4u);
  EXPECT_EQ(lanes_by_cores(host("container_half"), kNone), 8u);
  EXPECT_EQ(lanes_by_cores(host("two_sockets_8_gpus_8_nics"), 8), 8u);
  EXPECT_EQ(lanes_by_cores(host("two_sockets_8_gpus_8_nics"), 2.9), 2u);
  EXPECT_EQ(lanes_by_cores(host("cloud_vm"), 0.5), 1u);
  EXPECT_EQ(lanes_by_cores(host("cloud_vm"), 6), 4u);
  EXPECT_EQ(lanes_by_cores({}, kNone), 1u);
}

TEST(Placement, AHostOfNothing) {
  EXPECT_TRUE(place_lanes({}, {"eth0"}, 1).empty());
  EXPECT_TRUE(place_io({}, "eth0", 1).cpus.empty());
}

TEST(Placement, EquallyNearNicsAreTakenInTurn) {
  HostView h;
  h.gpus.resize(3);
  h.nics.resize(2);
  for (auto* devices : {&h.gpus, &h.nics})
    for (HostView::Device& d : *devices) d.node = 0;
  EXPECT_EQ(nic_of_gpus(h), (std::vector<int>{0, 1, 0}));
  h.nics.clear();
  EXPECT_EQ(nic_of_gpus(h), (std::vector<int>{-1, -1, -1}));
}

TEST(Placement, CpusAsText) {
  EXPECT_EQ(cpus_text({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
  EXPECT_EQ(cpus_text({}), "");
}

TEST(ThisHost, IsReadAlikeLinkedAndOpened) {
  const OpenedHwloc opened;
  ASSERT_TRUE(opened.api());
  Result<HostView> a = read_host(linked_hwloc()), b = read_host(*opened.api());
  ASSERT_TRUE(a && b);
  ASSERT_FALSE(a->cores.empty());
  ASSERT_EQ(a->cores.size(), b->cores.size());
  for (size_t i = 0; i < a->cores.size(); ++i) EXPECT_EQ(a->cores[i].cpus, b->cores[i].cpus);
}

TEST(ThisHost, TheAffinityMaskIsKeptTo) {
  const Cpus all = affinity_of_this_thread();
  ASSERT_FALSE(all.empty());
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  CPU_SET(all.back(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  Result<HostView> h = read_host(linked_hwloc());
  sched_setaffinity(0, sizeof before, &before);
  ASSERT_TRUE(h);
  ASSERT_EQ(h->cores.size(), 1u);
  EXPECT_EQ(h->cores[0].cpus, Cpus{all.back()});
}

TEST(Export, OfAnotherKindIsAnErrorThatNamesIt) {
  for (const char* path : {"tests/topologies/none.xml", "Makefile"}) {
    Result<HostView> h = read_host(linked_hwloc(), path);
    ASSERT_FALSE(h) << path;
    EXPECT_NE(h.error().text().find(path), std::string::npos) << h.error().text();
  }
}

}  // namespace
}  // namespace fanin
