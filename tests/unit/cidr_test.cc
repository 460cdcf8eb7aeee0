// Network lists as users write them, and which addresses are the internet's.
#include "transport/tcp/cidr.h"

#include <gtest/gtest.h>

namespace fanin::tcp {
namespace {

Address at(const char* text) { return Address::numeric(text, 1).value(); }
NetworkList list(const char* text) {
  Result<NetworkList> l = NetworkList::parse(text);
  EXPECT_TRUE(l) << l.error().text();
  return l ? *std::move(l) : NetworkList();
}

TEST(NetworkList, Contains) {
  const struct {
    const char *list, *address;
    bool in;
  } cases[] = {
      {"10.0.0.0/8", "10.255.255.255", true},
      {"10.0.0.0/8", "11.0.0.0", false},
      {"10.0.0.0/8", "9.255.255.255", false},
      {"10.0.0.0/8", "::ffff:10.1.2.3", true},
      {"10.0.0.0/8", "::10.1.2.3", false},
      {"192.168.4.0/23", "192.168.5.255", true},
      {"192.168.4.0/23", "192.168.6.0", false},
      {"192.168.1.7", "192.168.1.7", true},
      {"192.168.1.7/32", "192.168.1.6", false},
      {"0.0.0.0/0", "203.0.113.1", true},
      {"0.0.0.0/0", "2001:db8::1", false},
      {"::/0", "2001:db8::1", true},
      {"::/0", "203.0.113.1", false},
      {"::/0", "::ffff:203.0.113.1", false},
      {"::ffff:10.0.0.0/104", "10.9.9.9", true},
      {"::ffff:10.0.0.0/104", "::ffff:11.0.0.0", false},
      {"fd00::/8", "fd12:3456::1", true},
      {"fd00::/8", "fe00::", false},
      {"2001:db8::/33", "2001:db8:7fff::1", true},
      {"2001:db8::/33", "2001:db8:8000::1", false},
      {"2001:db8::1", "2001:db8::1", true},
      {"2001:db8::1", "2001:db8::2", false},
      {" 10.0.0.0/8 , fd00::/8 ", "fd00::1", true},
      {"10.0.0.0/8,192.168.0.0/16", "192.168.9.9", true},
      {"10.0.0.0/8,192.168.0.0/16", "172.16.0.1", false},
  };
  for (auto& c : cases)
    EXPECT_EQ(list(c.list).contains(at(c.address)), c.in) << c.address << " in " << c.list;
  EXPECT_TRUE(list("").empty());
  EXPECT_FALSE(list("::1").empty());
  EXPECT_FALSE(list("::1").contains(Address()));
}

TEST(NetworkList, ErrorsNameTheEntryAndTheFix) {
  const struct {
    const char *text, *says;
  } cases[] = {
      {"10.0.0.7/8", "is 10.0.0.0/8 meant?"},
      {"fd00::1/8", "is fd00::/8 meant?"},
      {"2001:db8:ffff::/33", "is 2001:db8:8000::/33 meant?"},
      {"10.0.0.0/33", "above 32"},
      {"fd00::/129", "above 128"},
      {"10.0.0.0/", "no number"},
      {"10.0.0.0/8x", "no number"},
      {"10.0.0.0/-1", "no number"},
      {"10.0.0.0/+8", "no number"},
      {"10.0.0.0/99999999999999999999", "no number"},
      {"10.0.0.0/8/8", "no number"},
      {"10/8", "no address"},
      {"10.1/16", "no address"},
      {"0x0a000000/8", "no address"},
      {"host.example/8", "no address"},
      {"fe80::1%lo", "no address"},
      {"[fd00::]/8", "no address"},
      {"10.0.0.256", "no address"},
      {"10.0.0.0/8,", "''"},
      {",10.0.0.0/8", "''"},
      {"10.0.0.0/8,,::1", "''"},
      {" ", "no address"},
  };
  for (auto& c : cases) {
    Result<NetworkList> l = NetworkList::parse(c.text);
    ASSERT_FALSE(l) << c.text;
    EXPECT_EQ(l.error().code(), Errc::kInvalidUsage);
    EXPECT_NE(l.error().text().find(c.says), std::string::npos) << c.text << ": " << l.error().text();
  }
}

TEST(IsPublic, KnowsTheInternetsAddresses) {
  for (const char* a :
       {"8.8.8.8", "172.32.0.1", "100.128.0.1", "2001:db8::1", "2a00::1", "::ffff:8.8.8.8", "fec0::1"})
    EXPECT_TRUE(is_public(at(a))) << a;
  for (const char* a :
       {"127.0.0.1", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.0.1", "169.254.1.1", "100.64.0.1",
        "0.0.0.0", "::1", "::", "fd00::1", "fc00::1", "fe80::1", "::ffff:10.0.0.1"})
    EXPECT_FALSE(is_public(at(a))) << a;
}

}  // namespace
}  // namespace fanin::tcp
