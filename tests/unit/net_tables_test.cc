// The point-to-point net's tables and frames, without sockets.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "plugin/net/grants.h"
#include "plugin/net/handle.h"
#include "plugin/net/postings.h"

namespace fanin::plugin::net {
namespace {

Credit credit(uint16_t slot, uint16_t parts, uint32_t sequence = 7) { return {sequence, slot, parts}; }

TEST(Grants, OldestFirstWithinATag) {
  Grants g;
  CreditPart a[2] = {{100, 1, 0}, {200, 2, 0}}, b[2] = {{300, 2, 0}, {400, 1, 0}};
  ASSERT_TRUE(g.add(credit(5, 2, 10), a));
  ASSERT_TRUE(g.add(credit(3, 2, 11), b));
  EXPECT_FALSE(g.take(9));
  auto first = g.take(2);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->bytes, 200u);
  EXPECT_EQ(first->slot, 5);
  EXPECT_EQ(first->part, 1);
  EXPECT_EQ(first->sequence, 10u);
  EXPECT_EQ(g.take(2)->bytes, 300u);
  EXPECT_FALSE(g.take(2));
  EXPECT_EQ(g.take(1)->bytes, 100u);
  EXPECT_EQ(g.take(1)->bytes, 400u);
  EXPECT_FALSE(g.take(1));
}

TEST(Grants, EqualTagsInOneGroupGoInOrder) {
  Grants g;
  CreditPart parts[3] = {{1, 4, 0}, {2, 4, 0}, {3, 4, 0}};
  ASSERT_TRUE(g.add(credit(0, 3), parts));
  for (uint64_t want = 1; want <= 3; want++) EXPECT_EQ(g.take(4)->bytes, want);
}

TEST(Grants, RefusesWhatCannotBe) {
  Grants g;
  CreditPart part{1, 0, 0};
  EXPECT_FALSE(g.add(credit(kMaxRequests, 1), &part));
  EXPECT_FALSE(g.add(credit(0, 0), &part));
  EXPECT_FALSE(g.add(credit(0, kMaxGroupedReceives + 1), &part));
  EXPECT_TRUE(g.add(credit(0, 1), &part));
  EXPECT_FALSE(g.add(credit(0, 1), &part)) << "slot still open";
  EXPECT_TRUE(g.take(0));
  EXPECT_TRUE(g.add(credit(0, 1), &part)) << "slot free again";
}

TEST(Grants, HoldsAllThatMayBeInFlight) {
  Grants g;
  CreditPart parts[kMaxGroupedReceives];
  for (int round = 0; round < 3; round++) {
    for (uint16_t s = 0; s < kMaxRequests; s++) {
      for (int p = 0; p < kMaxGroupedReceives; p++) parts[p] = {1, p, 0};
      ASSERT_TRUE(g.add(credit(s, kMaxGroupedReceives), parts));
    }
    for (int p = kMaxGroupedReceives - 1; p >= 0; p--)
      for (uint16_t s = 0; s < kMaxRequests; s++) ASSERT_EQ(g.take(p)->slot, s);
  }
}

class PostingsTest : public testing::Test {
 protected:
  PostingsTest() : buffer(1000) {
    void* data = buffer.data();
    size_t bytes = buffer.size();
    int tag = 3;
    slot = p.post(1, &data, &bytes, &tag);
  }
  Chunk chunk(uint64_t offset, uint32_t length, uint64_t total) const {
    Chunk c;
    c.offset = offset;
    c.length = length;
    c.total = total;
    c.slot = static_cast<uint16_t>(slot);
    c.sequence = p.at(slot).sequence;
    return c;
  }
  Errc code(const Chunk& c) {
    auto r = p.claim(c, "peer");
    EXPECT_FALSE(r);
    return r ? Errc::kInternal : r.error().code();
  }
  Postings p;
  std::vector<char> buffer;
  int slot = -1;
};

TEST_F(PostingsTest, CompleteWhenEveryByteIsThere) {
  auto part = p.claim(chunk(600, 200, 800), "peer");
  ASSERT_TRUE(part);
  p.arrived(**part, 200);
  ASSERT_TRUE(p.claim(chunk(0, 600, 800), "peer"));
  p.arrived(**part, 599);
  EXPECT_EQ(p.open(), 1);
  p.arrived(**part, 1);
  EXPECT_EQ(p.open(), 0);
  EXPECT_EQ(p.at(slot).parts[0].total, 800u);
  EXPECT_EQ(code(chunk(0, 0, 800)), Errc::kRemote) << "nothing may follow";
}

TEST_F(PostingsTest, ZeroBytes) {
  ASSERT_TRUE(p.claim(chunk(0, 0, 0), "peer"));
  EXPECT_EQ(p.open(), 0);
  EXPECT_EQ(code(chunk(0, 0, 0)), Errc::kRemote);
}

TEST_F(PostingsTest, NothingGoesOutsideThePostedBuffer) {
  EXPECT_EQ(code(chunk(0, 1, 1001)), Errc::kInvalidUsage);
  EXPECT_EQ(code(chunk(0, 11, 10)), Errc::kRemote);
  EXPECT_EQ(code(chunk(5, 6, 10)), Errc::kRemote);
  EXPECT_EQ(code(chunk(~uint64_t{0}, 1, 10)), Errc::kRemote);
  Chunk c = chunk(0, 1, 10);
  c.slot = kMaxRequests;
  EXPECT_EQ(code(c), Errc::kRemote);
  c = chunk(0, 1, 10);
  c.part = 1;
  EXPECT_EQ(code(c), Errc::kRemote);
  c = chunk(0, 1, 10);
  c.sequence++;
  EXPECT_EQ(code(c), Errc::kRemote);
  c = chunk(0, 1, 10);
  c.slot = 9;
  EXPECT_EQ(code(c), Errc::kRemote);
  ASSERT_TRUE(p.claim(chunk(0, 6, 10), "peer"));
  EXPECT_EQ(code(chunk(0, 5, 10)), Errc::kRemote) << "more bytes than the message";
  EXPECT_EQ(code(chunk(6, 4, 11)), Errc::kRemote) << "another total";
}

TEST_F(PostingsTest, AllSlotsAndNoMore) {
  void* data = buffer.data();
  size_t bytes = 1;
  int tag = 0;
  for (int i = 1; i < kMaxRequests; i++) ASSERT_GE(p.post(1, &data, &bytes, &tag), 0);
  EXPECT_EQ(p.post(1, &data, &bytes, &tag), -1);
  p.release(slot);
  EXPECT_EQ(p.open(), kMaxRequests - 1);
  EXPECT_EQ(p.post(1, &data, &bytes, &tag), slot);
}

TEST(Handle, RoundTrip) {
  for (const char* host : {"10.1.2.3", "fd00::42"}) {
    Handle h;
    h.listener = *tcp::Address::numeric(host, 4711);
    h.nonce = 0x1122334455667788;
    h.attempt = 99;
    char bytes[kHandleBytes];
    h.write(bytes);
    auto r = Handle::read(bytes);
    ASSERT_TRUE(r);
    EXPECT_EQ(r->listener, h.listener);
    EXPECT_EQ(r->nonce, h.nonce);
    EXPECT_EQ(r->attempt, h.attempt);
  }
}

TEST(Handle, RefusesWhatIsNotOurs) {
  char bytes[kHandleBytes] = {};
  EXPECT_EQ(Handle::read(bytes).error().code(), Errc::kInvalidArgument);
  Handle h;
  h.listener = tcp::Address::loopback(1);
  h.write(bytes);
  bytes[8] = 99;  // version
  auto r = Handle::read(bytes);
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().text().find("version 99"), std::string::npos) << r.error().text();
}

}  // namespace
}  // namespace fanin::plugin::net
