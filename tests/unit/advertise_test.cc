// --advertise: what is told to workers, and a line for each way to get it wrong.
#include "reducer/cli/advertise.h"

#include <gtest/gtest.h>

namespace fanin::reducer::cli {
namespace {

const tcp::Address kListen = tcp::Address::any(AF_INET6, 4000);

std::string told(const std::string& text) {
  Result<std::vector<tcp::Rail>> r = advertised(text, kListen);
  return r ? tcp::rails_text(*r, 4096) : r.error().text();
}

TEST(Advertise, AddressesWithTheirSpeeds) {
  EXPECT_EQ(told("10.9.8.7=100G, fd00::9=25Gbit/s ,[fd00::a]=10G,"),
            "10.9.8.7:0 100000\n[fd00::9]:0 25000\n[fd00::a]:0 10000\n");
  EXPECT_EQ(told("10.9.8.7"), "10.9.8.7:0 0\n");
  EXPECT_EQ(told("none") + told("") + told(","), "");
}

TEST(Advertise, AnAddressThatNobodyCanReach) {
  for (const char* a : {"0.0.0.0", "::", "224.0.0.1", "255.255.255.255", "ff02::1"})
    EXPECT_EQ(told(a), "--advertise: '" + std::string(a) +
                           "' is no address of one host; give those at which workers reach this one");
}

// Which of the speeds would count?
TEST(Advertise, AnAddressTwice) {
  EXPECT_EQ(told("10.9.8.7=100G,10.9.8.7=1G"), "--advertise: 10.9.8.7 is listed twice; remove one");
}

TEST(Advertise, ASpeedWithoutUnit) {
  EXPECT_EQ(told("10.9.8.7=100"),
            "--advertise: '100' is less than 1 Mbit/s; look at the unit: bits per second as 100G, 32Gbit/s "
            "or 25Gbps");
}

TEST(Advertise, WhatIsNeither) {
  for (const char* what : {"no-such-nic0", "10.9.8.7:4000", "=100G", "10.9.8.[1-4]", "AUTO"})
    EXPECT_TRUE(told(what).ends_with(
        "' is neither an address (without port) nor an interface of this host that is up and "
        "has one"))
        << told(what);
}

// The rest would be left out in silence.
TEST(Advertise, MoreThanAWorkerCanBeToldOf) {
  std::string some, many;
  for (int i = 1; i <= 18; ++i)
    some += "2001:db8:aaaa:bbbb:cccc:dddd:eeee:f" + std::to_string(100 + i) + "=100G,";
  for (int i = 1; i <= 40; ++i) many += "10.200.100." + std::to_string(200 + i) + "=100G,";
  EXPECT_EQ(advertised(some, kListen) ? "fits" : told(some), "fits");
  EXPECT_EQ(told(many), "--advertise: workers cannot be told of so many addresses (40); list the fastest");
}

}  // namespace
}  // namespace fanin::reducer::cli
