// FANIN_PORT_RANGE: how it is written, and that every listener of the plugin keeps to it.
#include "transport/tcp/port_range.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <vector>

#include "plugin/collnet/connect.h"
#include "plugin/net/handle.h"
#include "plugin/net/listen_comm.h"
#include "tests/support/collnet_world.h"
#include "tests/support/held_port.h"
#include "tests/support/net_pair.h"
#include "transport/tcp/socket.h"

namespace fanin::tcp {
namespace {

// Ports next to each other, free for listeners with SO_REUSEADDR, and for nobody else as long as this lives.
class HeldRange {
 public:
  explicit HeldRange(uint16_t n) {
    while (held_.size() < n) {
      held_.clear();
      held_.push_back(Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)));
      EXPECT_TRUE(bound(Address::loopback(0)));
      Address at = *local_address(held_.front().get());
      range_.low = at.port();
      while (held_.size() < n && at.port() < 65535) {
        at.set_port(static_cast<uint16_t>(at.port() + 1));
        held_.push_back(Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)));
        if (!bound(at)) break;
      }
      if (!ok_) held_.clear();
    }
    range_.high = static_cast<uint16_t>(range_.low + n - 1);
  }
  const PortRange& range() const { return range_; }

 private:
  bool bound(const Address& at) {
    const int one = 1;
    return ok_ = ::setsockopt(held_.back().get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
                 ::bind(held_.back().get(), at.sa(), at.length()) == 0;
  }
  std::vector<Fd> held_;
  PortRange range_;
  bool ok_ = false;
};

uint16_t port_of(const Result<Fd>& fd) { return fd ? local_address((*fd).get())->port() : 0; }
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(PortRange, IsReadAsItIsWritten) {
  for (const char* text : {"1-65535", "20000-20999", "7-8"}) {
    const Result<PortRange> r = parse_port_range(text);
    ASSERT_TRUE(r) << text;
    EXPECT_EQ(r->text(), text);
  }
  const Result<PortRange> one = parse_port_range("4000-4000"), same = parse_port_range("4000");
  ASSERT_TRUE(one && same);
  EXPECT_EQ(one->size(), 1u);
  EXPECT_EQ(one->text(), same->text());
  EXPECT_EQ(parse_port_range("1-65535")->size(), 65535u);
}

TEST(PortRange, WhatIsNoneIsAnsweredWithTheNearestThatIs) {
  const struct {
    const char *text, *meant;
  } cases[] = {{"20999-20000", "did you mean 20000-20999?"},
               {"20000:20999", "did you mean 20000-20999?"},
               {"20000 - 20999", "did you mean 20000-20999?"},
               {"20000-70000", "did you mean 20000-65535?"},
               {"0-100", "did you mean 1-100?"},
               {"0", "did you mean 1?"},
               {"-5", "did you mean 5?"},
               {"020-30", "did you mean 20-30?"},
               {"99999999999999999999", "did you mean 65535?"},
               {"any", "write it as 20000-20999"},
               {"", "write it as 20000-20999"},
               {"-", "write it as 20000-20999"},
               {"1-2-3", "write it as 20000-20999"}};
  for (const auto& c : cases) {
    const Result<PortRange> r = parse_port_range(c.text);
    ASSERT_FALSE(r) << c.text;
    EXPECT_TRUE(has(r.error().text(), c.meant)) << r.error().text();
  }
}

TEST(PortRange, BeginsWhereItIsToldAndGoesRoundUntilAllAreTaken) {
  const HeldRange held(3);
  const PortRange range = held.range();
  std::vector<Result<Fd>> taken;
  for (const uint32_t offset : {1u, 2u, 0u}) {
    taken.push_back(listen_within(range, Address::loopback(0), 3 * 1000 + 1));
    EXPECT_EQ(port_of(taken.back()), range.low + offset);
  }
  const Result<Fd> more = listen_within(range, Address::loopback(0), 2);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code(), Errc::kInvalidUsage);
  EXPECT_TRUE(has(more.error().text(), "none of the 3 ports " + range.text() +
                                           " of 127.0.0.1 can be listened on "
                                           "(Address already in use)"))
      << more.error().text();
  taken.erase(taken.begin());
  EXPECT_EQ(port_of(listen_within(range, Address::loopback(0), 0)), range.low + 1)
      << "one that is free again";
}

// The range is not to blame for what else fails.
TEST(PortRange, AnAddressOfAnotherHostIsNoMatterOfPorts) {
  const Result<Fd> fd = listen_within({20000, 20999}, *Address::numeric("192.0.2.1", 0), 0);
  ASSERT_FALSE(fd);
  EXPECT_EQ(fd.error().code(), Errc::kSystem);
  EXPECT_TRUE(has(fd.error().text(), "cannot bind 192.0.2.1:20000")) << fd.error().text();
}

// Rank 0's agreement.
TEST(PortRange, ACollnetListenerKeepsToIt) {
  const HeldRange held(1);
  plugin::Options options;
  options.ports = held.range();
  plugin::collnet::Handle handle;
  const auto listener = plugin::collnet::open_listener(options, test::loopback_device(), handle);
  ASSERT_TRUE(listener) << listener.error().text();
  EXPECT_EQ(plugin::collnet::handle_address(handle, 0, Address::loopback(0))->port(), held.range().low);
  plugin::collnet::Handle unused;
  const auto second = plugin::collnet::open_listener(options, test::loopback_device(), unused);
  ASSERT_FALSE(second);
  EXPECT_TRUE(has(second.error().text(), "FANIN_PORT_RANGE: none of the 1 ports " + held.range().text()))
      << second.error().text();
}

// As NCCL calls it, with the variable.
TEST(PortRange, APointToPointListenerKeepsToIt) {
  const HeldRange held(2);
  test::use_loopback("1");
  setenv("FANIN_PORT_RANGE", held.range().text().c_str(), 1);
  char handle[plugin::net::kHandleBytes];
  std::set<uint16_t> ports;
  std::vector<plugin::net::ListenComm*> listeners;
  for (int i = 0; i < 2; ++i) {
    const auto l = plugin::net::listen(0, handle);
    ASSERT_TRUE(l) << l.error().text();
    listeners.push_back(*l);
    ports.insert(plugin::net::Handle::read(handle)->listener.port());
  }
  EXPECT_EQ(ports, (std::set<uint16_t>{held.range().low, held.range().high}));
  const auto third = plugin::net::listen(0, handle);
  ASSERT_FALSE(third);
  EXPECT_TRUE(has(third.error().text(), "FANIN_PORT_RANGE: none of the 2 ports " + held.range().text()))
      << third.error().text();
  for (plugin::net::ListenComm* l : listeners) EXPECT_TRUE(plugin::net::close_listen(l));
  // A connection is made and its port free again for the next.
  for (int i = 0; i < 3; ++i) {
    test::NetPair pair;
    ASSERT_NO_FATAL_FAILURE(pair.connect());
    EXPECT_TRUE(ports.contains(plugin::net::Handle::read(pair.handle)->listener.port()));
  }
}

// Processes of a host begin elsewhere: were it always the same port, the second port would never be taken first.
TEST(PortRange, ListenersBeginAnywhere) {
  const HeldRange held(2);
  std::set<uint16_t> ports;
  for (int i = 0; i < 200 && ports.size() < 2; ++i) {
    const auto l = plugin::net::ListenComm::open(Address::loopback(0), std::chrono::milliseconds(1000),
                                                 std::nullopt, kKeepAlive, held.range());
    ASSERT_TRUE(l) << l.error().text();
    ports.insert((*l)->address().port());
  }
  EXPECT_EQ(ports.size(), 2u);
}

}  // namespace
}  // namespace fanin::tcp
