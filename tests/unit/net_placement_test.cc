// Spreading over sockets: a slow path gets as much as it carries, and sets nobody's pace. Counted in bytes,
// not in time.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <list>

#include "plugin/net/frames.h"
#include "plugin/net/handle.h"
#include "plugin/net/send_comm.h"
#include "tests/support/net_pair.h"
#include "tests/support/tcp_pair.h"

namespace fanin::test {
namespace {

constexpr size_t kBytes = 32 << 20;

class NetPlacement : public testing::Test {
 protected:
  static void SetUpTestSuite() { use_loopback("4"); }
};

size_t drain(int fd) {
  static std::vector<char> scratch(1 << 20);
  ssize_t n = ::recv(fd, scratch.data(), scratch.size(), MSG_DONTWAIT);
  return n > 0 ? static_cast<size_t>(n) : 0;
}

// The receiving side of a connection, played by the test: it decides which sockets are read.
struct Reader {
  std::vector<Fd> far;
  std::array<size_t, 5> got{};
  std::unique_ptr<net::SendComm> comm;
  explicit Reader(size_t data_sockets) {
    std::vector<std::unique_ptr<Stream>> near;
    for (size_t i = 0; i <= data_sockets; i++) {
      auto [a, b] = tcp_pair();
      near.push_back(std::make_unique<tcp::TcpStream>(std::move(a)));
      far.push_back(std::move(b));
    }
    comm = std::make_unique<net::SendComm>(std::move(near));
  }
  void post(size_t bytes, uint32_t sequence = 0) {
    struct {
      net::Credit credit;
      net::CreditPart part;
    } frame{{sequence, static_cast<uint16_t>(sequence % net::kMaxRequests), 1}, {bytes, 0, 0}};
    ASSERT_EQ(::send(far[0].get(), &frame, sizeof frame, 0), static_cast<ssize_t>(sizeof frame));
  }
  void read(size_t socket) { got[socket] += drain(far[socket].get()); }
};

TEST_F(NetPlacement, ASocketNobodyReadsHoldsUpNothingButItsOwnChunk) {
  Reader reader(4);
  reader.post(kBytes);
  std::vector<char> data(kBytes);
  auto s = reader.comm->isend(data.data(), kBytes, 0);
  ASSERT_TRUE(s && *s);
  // Socket 2 is stuck. All but a little must come over the other three; the watchdog ends a test that waits
  // for more.
  while (reader.got[1] + reader.got[3] + reader.got[4] < kBytes - (2 << 20)) {
    ASSERT_FALSE(*net::test(*s, nullptr)) << "done although a socket is stuck with a chunk";
    for (size_t i : {1, 3, 4}) reader.read(i);
  }
  for (bool done = false; !done;) {
    for (size_t i : {1, 2, 3, 4}) reader.read(i);
    auto d = net::test(*s, nullptr);
    ASSERT_TRUE(d);
    done = *d;
  }
  size_t total = 0, chunks = kBytes / (256 << 10);
  while (total < kBytes + chunks * sizeof(net::Chunk)) {
    for (size_t i : {1, 2, 3, 4}) reader.read(i);
    total = reader.got[1] + reader.got[2] + reader.got[3] + reader.got[4];
  }
  EXPECT_EQ(total, kBytes + chunks * sizeof(net::Chunk));
  EXPECT_GT(reader.got[2], 0u) << "an idle socket must be used";
}

TEST_F(NetPlacement, SmallMessagesGoRoundAStuckSocketToo) {
  Reader reader(2);
  constexpr size_t kSmall = 1000;
  std::vector<char> data(kSmall);
  size_t want = 0;
  for (uint32_t i = 0; i < 1000; i++) {
    reader.post(kSmall, i);
    net::Request* r = nullptr;
    while (!r) r = *reader.comm->isend(data.data(), kSmall, 0);
    ASSERT_TRUE(finish({r}));
    want += kSmall + sizeof(net::Chunk);
    // Socket 1 is never read, but its kernel acknowledges until its window is full.
    for (size_t before = reader.got[2]; reader.got[2] == before && reader.got[2] + (256 << 10) < want;)
      reader.read(2);
  }
  EXPECT_GT(reader.got[2], want / 2);
}

TEST_F(NetPlacement, EqualSocketsShareAMessage) {
  Reader reader(4);
  constexpr size_t kShared = 512 << 10;
  reader.post(kShared);
  std::vector<char> data(kShared);
  auto s = reader.comm->isend(data.data(), kShared, 0);
  ASSERT_TRUE(s && *s);
  while (!*net::test(*s, nullptr))
    for (size_t i : {1, 2, 3, 4}) reader.read(i);
  for (size_t i : {1, 2, 3, 4})
    while (reader.got[i] < kShared / 4 + sizeof(net::Chunk)) reader.read(i);
}

// A slow path in the middle of the network: forwards one connection's sockets, one of them a little at a
// time.
class Relay {
 public:
  static constexpr uint16_t kSlow = 2;
  explicit Relay(const tcp::Address& to) : to_(to) {
    auto l = tcp::listen_on(tcp::Address::loopback(0));
    EXPECT_TRUE(l);
    listener_ = std::move(*l);
  }
  tcp::Address address() const { return *tcp::local_address(listener_.get()); }
  size_t forwarded(uint16_t index) const { return forwarded_[index]; }

  void pump() {
    while (Fd in = std::move(*tcp::accept_from(listener_.get())))
      links_.push_back({std::move(in), dial(to_)});
    for (Link& l : links_) {
      forward(l, l.in, l.out, l.pending, l.known && l.index == kSlow ? 4096 : 256 << 10, true);
      forward(l, l.out, l.in, l.pending_back, 4096, false);
    }
  }

 private:
  struct Link {
    Fd in, out;
    std::vector<char> pending{}, pending_back{};
    bool known = false;
    uint16_t index = 0;
  };
  void forward(Link& l, const Fd& from, const Fd& to, std::vector<char>& pending, size_t most, bool count) {
    if (pending.empty()) {
      pending.resize(most);
      ssize_t n = ::recv(from.get(), pending.data(), most, MSG_DONTWAIT);
      pending.resize(n > 0 ? static_cast<size_t>(n) : 0);
      if (count && !l.known && n >= static_cast<ssize_t>(sizeof(net::Hello))) {
        net::Hello h;
        memcpy(&h, pending.data(), sizeof h);
        l.index = h.index;
        l.known = true;
      }
    }
    if (pending.empty()) return;
    ssize_t n = ::send(to.get(), pending.data(), pending.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n <= 0) return;
    pending.erase(pending.begin(), pending.begin() + n);
    if (count && l.known) forwarded_[l.index] += static_cast<size_t>(n);
  }

  tcp::Address to_;
  Fd listener_;
  std::list<Link> links_;
  std::array<size_t, net::kMaxSockets> forwarded_{};
};

TEST_F(NetPlacement, OneSlowPathEndToEnd) {
  NetPair p;
  auto l = net::listen(0, p.handle);
  ASSERT_TRUE(l);
  p.listener = *l;
  auto handle = net::Handle::read(p.handle);
  ASSERT_TRUE(handle);
  Relay relay(handle->listener);
  handle->listener = relay.address();
  handle->write(p.handle);
  ASSERT_NO_FATAL_FAILURE(p.connect_to(p.handle));
  while (!p.recv) {
    relay.pump();
    auto r = net::accept(p.listener);
    ASSERT_TRUE(r);
    p.recv = *r;
  }
  std::vector<char> in = pattern(kBytes, 9), out(kBytes);
  auto r = post(p.recv, out.data(), kBytes, 0);
  auto s = net::isend(p.send, in.data(), kBytes, 0, nullptr);
  ASSERT_TRUE(r && s);
  for (bool sent = false, received = false; !sent || !received;) {
    relay.pump();
    auto progress = [](net::Request* request, bool* done) {
      if (*done) return;
      auto d = net::test(request, nullptr);
      ASSERT_TRUE(d) << d.error().text();
      *done = *d;
    };
    progress(*s, &sent);
    progress(*r, &received);
  }
  EXPECT_TRUE(in == out);
  size_t slow = relay.forwarded(Relay::kSlow), fast = SIZE_MAX;
  for (uint16_t i : {1, 3, 4}) fast = std::min(fast, relay.forwarded(i));
  EXPECT_LT(slow * 3, fast) << "slow path " << slow << " bytes, a fast one " << fast;
  EXPECT_GT(slow, 0u);
}

}  // namespace
}  // namespace fanin::test
