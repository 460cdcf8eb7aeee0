// Which interfaces' speeds are believed: a folder that looks like the kernel's.
#include "transport/link_speed.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "plugin/net/node_rate.h"
#include "transport/small_file.h"

namespace fanin {
namespace {

namespace fs = std::filesystem;

class LinkSpeed : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/fanin-sys-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    sys_ = name;
  }
  void TearDown() override { fs::remove_all(sys_); }
  void add(const std::string& name, const std::string& speed, const std::string& uevent, bool card = false) {
    fs::create_directory(sys_ + "/" + name);
    if (!speed.empty()) std::ofstream(sys_ + "/" + name + "/speed") << speed << "\n";
    std::ofstream(sys_ + "/" + name + "/uevent") << uevent;
    if (card) fs::create_symlink("..", sys_ + "/" + name + "/device");
  }
  uint32_t speed(const std::string& name) { return link_speed(name, sys_); }
  std::string sys_;
};

TEST_F(LinkSpeed, OfCardsAndWhatIsMadeOfThem) {
  add("eth0", "100000", "INTERFACE=eth0\nIFINDEX=2\n", true);
  add("eth1", "10000", "INTERFACE=eth1\nIFINDEX=3\n", true);
  add("bond0", "200000", "DEVTYPE=bond\nINTERFACE=bond0\n");
  add("bond0.7", "200000", "DEVTYPE=vlan\nINTERFACE=bond0.7\n");
  EXPECT_EQ(speed("eth0"), 100000u);
  EXPECT_EQ(speed("eth1"), 10000u);
  EXPECT_EQ(speed("bond0"), 200000u);
  EXPECT_EQ(speed("bond0.7"), 200000u);
}

TEST_F(LinkSpeed, UnknownOfWhatTellsNoneOrMadeItUp) {
  add("eth0", "-1", "INTERFACE=eth0\n", true);  // virtio
  add("eth1", "", "INTERFACE=eth1\n", true);    // down
  add("eth2", "4294967295", "INTERFACE=eth2\n", true);
  add("veth", "10000", "INTERFACE=veth\n");
  add("br0", "10000", "DEVTYPE=bridge\nINTERFACE=br0\n");
  add("tun0", "10", "INTERFACE=tun0\n");
  for (const char* name : {"eth0", "eth1", "eth2", "veth", "br0", "tun0", "none"})
    EXPECT_EQ(speed(name), 0u) << name;
}

TEST_F(LinkSpeed, WhatLiesOnAnother) {
  add("bond0", "200000", "DEVTYPE=bond\n");
  add("bond0.7", "200000", "DEVTYPE=vlan\n");
  fs::create_symlink("../bond0", sys_ + "/bond0.7/lower_bond0");
  EXPECT_TRUE(lies_on("bond0.7", "bond0", sys_));
  EXPECT_FALSE(lies_on("bond0", "bond0.7", sys_));
}

TEST_F(LinkSpeed, FilesAreReadToTheirEndOrAsMuchAsIsWanted) {
  const std::string path = sys_ + "/file";
  std::ofstream(path) << std::string(10000, 'x') << "\nmore";
  EXPECT_EQ(read_small_file(path)->size(), 10005u);
  EXPECT_EQ(read_small_file(path, 10)->size(), 10u);
  EXPECT_EQ(first_line_of(sys_ + "/nothing"), "");
  EXPECT_FALSE(read_small_file(sys_ + "/nothing"));
  EXPECT_EQ(errno, ENOENT);
  EXPECT_FALSE(read_small_file(sys_));
  EXPECT_EQ(errno, EISDIR);
}

plugin::NetDevice nic(const std::string& name, int mbps, bool known = true) {
  plugin::NetDevice d;
  d.name = name;
  d.speed_mbps = mbps;
  d.speed_known = known;
  return d;
}

TEST(NodeRate, SumsWhatIsKnown) {
  const std::vector<plugin::NetDevice> nics = {nic("fn0", 100000), nic("fn1", 25000),
                                               nic("fn2", 10000, false)};
  const plugin::NodeRate sum = plugin::node_rate(std::nullopt, nics);
  EXPECT_DOUBLE_EQ(sum.bits, 125e9);
  EXPECT_EQ(sum.from, "fn0 100 Gbit/s, fn1 25 Gbit/s");
  EXPECT_EQ(plugin::node_rate(std::nullopt, std::span(nics).subspan(2)).bits, 0);
  EXPECT_EQ(plugin::node_rate(std::nullopt, {}).bits, 0);
  EXPECT_DOUBLE_EQ(plugin::node_rate(32e9, nics).bits, 32e9);
  EXPECT_EQ(plugin::node_rate(0, nics).bits, 0);
}

}  // namespace
}  // namespace fanin
