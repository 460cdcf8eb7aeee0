// Interface choice against NCCL's rules, over made-up hosts, and the reading of this host.
#include "plugin/net/device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "plugin/net/interfaces.h"

namespace fanin::plugin {
namespace {

Interface on(const std::string& name, const char* host, bool running = true,
             const char* mask = "255.255.255.0") {
  return {name, running, *tcp::Address::numeric(host, 0),
          *tcp::Address::numeric(
              std::string(host).find(':') != std::string::npos ? "ffff:ffff:ffff:ffff::" : mask, 0)};
}

// A typical GPU host.
std::vector<Interface> host() {
  return {on("lo", "127.0.0.1"),          on("eth0", "10.0.0.7"),
          on("eth1", "10.0.1.7"),         on("eth10", "10.0.2.7"),
          on("docker0", "172.17.0.1"),    on("virbr0", "192.168.122.1"),
          on("down0", "10.9.0.1", false), on("lo", "::1"),
          on("eth0", "fd00::7"),          on("eth0", "fe80::7"),
          on("six", "fe80::9"),           on("six", "fd00:1::9")};
}

std::string names(const std::vector<Interface>& all, InterfaceWish wish) {
  Result<std::vector<Interface>> r = choose_interfaces(all, wish);
  if (!r) return "error";
  std::string out;
  for (auto& i : *r) out += (out.empty() ? "" : " ") + i.name + "=" + i.address.host();
  return out;
}

TEST(Interfaces, DefaultLeavesOutLoopbackDockerAndBridges) {
  EXPECT_EQ(names(host(), {}), "eth0=10.0.0.7 eth1=10.0.1.7 eth10=10.0.2.7 six=fd00:1::9");
}

TEST(Interfaces, InfinibandFirst) {
  auto all = host();
  all.push_back(on("ibs3", "10.5.0.1"));
  EXPECT_EQ(names(all, {}), "ibs3=10.5.0.1");
}

TEST(Interfaces, SubnetOfTheCommIdBeforeAnythingElse) {
  EXPECT_EQ(names(host(), {"", "", "10.0.1.99:4000"}), "eth1=10.0.1.7");
  EXPECT_EQ(names(host(), {"", "", "[fd00::1]:4000"}), "eth0=fd00::7");
  EXPECT_EQ(names(host(), {"", "", "garbage"}), names(host(), {}));
}

TEST(Interfaces, LastResorts) {
  EXPECT_EQ(names({on("lo", "127.0.0.1"), on("docker0", "172.17.0.1")}, {}), "docker0=172.17.0.1");
  EXPECT_EQ(names({on("virbr0", "192.168.122.1"), on("lo", "127.0.0.1")}, {}), "lo=127.0.0.1");
  EXPECT_EQ(names({on("virbr0", "192.168.122.1")}, {}), "virbr0=192.168.122.1");
}

TEST(Interfaces, PrefixList) {
  EXPECT_EQ(names(host(), {"eth1", "", ""}), "eth1=10.0.1.7 eth10=10.0.2.7");
  EXPECT_EQ(names(host(), {"eth10,docker:1", "", ""}), "eth10=10.0.2.7 docker0=172.17.0.1");
  EXPECT_EQ(names(host(), {"lo", "", ""}), "lo=127.0.0.1");
}

TEST(Interfaces, ExactList) {
  EXPECT_EQ(names(host(), {"=eth1", "", ""}), "eth1=10.0.1.7");
  EXPECT_EQ(names(host(), {"=eth1,eth0", "", ""}), "eth0=10.0.0.7 eth1=10.0.1.7");
  EXPECT_EQ(names(host(), {"=eth", "", ""}), "error");
}

TEST(Interfaces, Exclusion) {
  EXPECT_EQ(names(host(), {"^eth1,docker,lo,virbr,six", "", ""}), "eth0=10.0.0.7");
  EXPECT_EQ(names(host(), {"^=eth1,docker0,lo,virbr0,six", "", ""}), "eth0=10.0.0.7 eth10=10.0.2.7");
}

TEST(Interfaces, OneCharacterIsNotSet) { EXPECT_EQ(names(host(), {"^", "", ""}), names(host(), {})); }

TEST(Interfaces, Family) {
  EXPECT_EQ(names(host(), {"", "AF_INET6", ""}), "eth0=fd00::7 six=fd00:1::9");
  EXPECT_EQ(names(host(), {"eth", "AF_INET", ""}), "eth0=10.0.0.7 eth1=10.0.1.7 eth10=10.0.2.7");
  EXPECT_EQ(names(host(), {"lo", "AF_INET6", ""}), "error");  // ::1 is never taken, as in NCCL
  EXPECT_EQ(names(host(), {"eth0", "nonsense", ""}), "eth0=10.0.0.7");
}

TEST(Interfaces, LinkLocalOnlyWhenThereIsNothingElse) {
  EXPECT_EQ(names({on("a", "fe80::1"), on("b", "10.0.0.1")}, {}), "b=10.0.0.1");
  EXPECT_EQ(names({on("a", "fe80::1"), on("a", "fd00::1")}, {}), "a=fd00::1");
  EXPECT_EQ(names({on("a", "fe80::1")}, {}), "a=fe80::1");
}

TEST(Interfaces, NoMoreThanNcclTakes) {
  std::vector<Interface> many;
  for (int i = 0; i < 40; i++) many.push_back(on("e" + std::to_string(i), "10.0.0.1"));
  EXPECT_EQ(choose_interfaces(many, {})->size(), kMaxInterfaces);
}

TEST(Interfaces, TheErrorNamesVariablesAndInterfaces) {
  Result<std::vector<Interface>> r = choose_interfaces(host(), {"wlan", "AF_INET6", ""});
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code(), Errc::kInvalidUsage);
  for (const char* word :
       {"NCCL_SOCKET_IFNAME=wlan", "NCCL_SOCKET_FAMILY=AF_INET6", "eth10 10.0.2.7", "down0 10.9.0.1 (down)"})
    EXPECT_NE(r.error().text().find(word), std::string::npos) << word << " in: " << r.error().text();
  EXPECT_FALSE(choose_interfaces({}, {}));
}

TEST(Device, ReadsThisHost) {
  setenv("NCCL_SOCKET_IFNAME", "^=none", 1);
  unsetenv("NCCL_SOCKET_FAMILY");
  Result<std::vector<NetDevice>> first = find_net_devices(), again = find_net_devices();
  ASSERT_TRUE(first) << first.error().text();
  ASSERT_EQ(first->size(), again->size());
  bool lo = false;
  for (size_t i = 0; i < first->size(); i++) {
    const NetDevice& d = (*first)[i];
    EXPECT_GT(d.speed_mbps, 0);
    EXPECT_EQ(d.address.port(), 0);
    EXPECT_EQ(d.guid, (*again)[i].guid);
    for (size_t j = 0; j < i; j++) EXPECT_NE(d.guid, (*first)[j].guid);
    EXPECT_TRUE(d.pci_path.empty() || d.pci_path.starts_with("/sys/devices/")) << d.pci_path;
    if (d.name != "lo") continue;
    lo = true;
    EXPECT_EQ(d.speed_mbps, 10000);
    EXPECT_EQ(d.pci_path, "");
    EXPECT_TRUE(d.address.is_loopback());
  }
  EXPECT_TRUE(lo);
}

TEST(Device, TheListIsMadeOnce) {
  setenv("NCCL_SOCKET_IFNAME", "lo", 1);
  Result<std::span<const NetDevice>> a = net_devices();
  ASSERT_TRUE(a);
  ASSERT_EQ(a->size(), 1u);
  setenv("NCCL_SOCKET_IFNAME", "nothing", 1);
  Result<std::span<const NetDevice>> b = net_devices();
  ASSERT_TRUE(b);
  EXPECT_EQ(a->data(), b->data());
  EXPECT_FALSE(find_net_devices());
}

}  // namespace
}  // namespace fanin::plugin
