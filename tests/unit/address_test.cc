#include "transport/tcp/address.h"

#include <gtest/gtest.h>

namespace fanin::tcp {
namespace {

TEST(ParseHostPort, NamesIpv4AndBracketedIpv6) {
  EXPECT_EQ(parse_host_port("reducer-0.pool:4000")->host, "reducer-0.pool");
  EXPECT_EQ(parse_host_port("10.0.0.7:65535")->port, 65535);
  Result<HostPort> v6 = parse_host_port("[fd00::7]:0");
  ASSERT_TRUE(v6);
  EXPECT_EQ(v6->host, "fd00::7");
  EXPECT_EQ(v6->port, 0);
}

TEST(ParseHostPort, ErrorNamesTheTextTheReasonAndTheFix) {
  struct {
    const char* text;
    const char* why;
  } const cases[] = {
      {"host", "no port"},
      {"host:", "the port is not a number"},
      {"host:http", "the port is not a number"},
      {"host:40x", "the port is not a number"},
      {"host:-1", "the port is not a number"},
      {"host:65536", "the port is above 65535"},
      {"host:99999999999", "the port is above 65535"},
      {":4000", "no host"},
      {"fd00::7:4000", "an IPv6 address needs brackets"},
      {"[fd00::7:4000", "unbalanced bracket"},
      {"[host]:4000", "no IPv6 address in the brackets"},
      {"a b:4000", "a character no host name has"},
      {"a\x7f:4000", "a character no host name has"},
      {"http://host:4000", "a character no host name has"},
      {"10.0.0.7:4000;10.0.0.8:4000", "a character no host name has"},
      {"10.0.0.7:4000 10.0.0.8:4000", "a character no host name has"},
      {"DNS:host:4000", "more than one colon"},
      {"host:4000:4001", "more than one colon"},
      {"::1", "an IPv6 address needs brackets"},
      {"", "no port"},
  };
  for (auto& c : cases) {
    Result<HostPort> r = parse_host_port(c.text);
    ASSERT_FALSE(r) << c.text;
    EXPECT_EQ(r.error().text(), quoted(c.text) + " is not HOST:PORT (" + c.why +
                                    "); write name:4000, 10.0.0.7:4000 or [fd00::7]:4000");
  }
}

TEST(ParseHostPort, ErrorQuotesBinaryAndEndlessTextReadably) {
  std::string endless(70000, 'x');
  EXPECT_LT(parse_host_port(endless).error().text().size(), 300u);
  EXPECT_EQ(parse_host_port("a\x01\n").error().text().substr(0, 5),
            "'a?"
            "?'");
}

// It would be cut at the zero, and be another host.
TEST(ParseHostPort, ControlCharactersAreNoName) {
  for (const std::string_view text : {std::string_view("127.0.0.1\0x:4000", 16),
                                      std::string_view("a\nb:4000"), std::string_view("a\x1b(B:4000")})
    EXPECT_NE(parse_host_port(text).error().text().find("a character no host name has"), std::string::npos);
}

TEST(Address, OfOneHost) {
  for (const char* a : {"10.0.0.7", "127.0.0.1", "::1", "fd00::7", "192.168.1.255"})
    EXPECT_TRUE(Address::numeric(a, 1)->is_one_host()) << a;
  for (const char* a : {"0.0.0.0", "::", "224.0.0.1", "239.1.2.3", "255.255.255.255", "ff02::1"})
    EXPECT_FALSE(Address::numeric(a, 1)->is_one_host()) << a;
}

TEST(Address, TextFormsAndEquality) {
  Address a = *Address::numeric("127.0.0.1", 80), b = *Address::numeric("::1", 80);
  EXPECT_EQ(a.text(), "127.0.0.1:80");
  EXPECT_EQ(b.text(), "[::1]:80");
  EXPECT_TRUE(a == Address::loopback(80));
  EXPECT_FALSE(a == b);
  b.set_port(81);
  EXPECT_EQ(b.port(), 81);
  EXPECT_FALSE(b == *Address::numeric("::1", 80));
  EXPECT_TRUE(a.is_loopback() && b.is_loopback());
  EXPECT_FALSE(Address::any(AF_INET, 0).is_loopback());
  EXPECT_TRUE(Address::any(AF_INET, 7).is_any() && Address::any(AF_INET6, 7).is_any());
  EXPECT_FALSE(a.is_any() || b.is_any());
  EXPECT_FALSE(Address::numeric("localhost", 1)) << "a name is not looked up";
}

TEST(Resolve, NumericAndUnknownNames) {
  Result<std::vector<Address>> r = resolve({"127.0.0.1", 7});
  ASSERT_TRUE(r);
  ASSERT_EQ(r->size(), 1u);
  EXPECT_EQ((*r)[0].text(), "127.0.0.1:7");
  Result<std::vector<Address>> none = resolve({"no-such-host.invalid", 7});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().text().find("cannot resolve 'no-such-host.invalid'"), std::string::npos);
}

}  // namespace
}  // namespace fanin::tcp
