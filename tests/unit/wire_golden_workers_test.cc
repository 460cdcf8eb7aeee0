// The bytes between workers, pinned: rendezvous, handles and point-to-point frames. Between worker and reducer:
// wire_golden_test.cc.
#include <gtest/gtest.h>

#include <cstring>

#include "plugin/collnet/frame_seal.h"
#include "plugin/collnet/handle.h"
#include "plugin/collnet/rendezvous_wire.h"
#include "plugin/net/handle.h"
#include "plugin/net/proof.h"
#include "tests/support/golden.h"

namespace fanin {
namespace {

using plugin::collnet::RendezvousType;
using test::counting;
using test::hex;
using test::hex_of;

TEST(WireGoldenWorkers, Rendezvous) {
  using namespace plugin::collnet;
  Report r;
  r.session = counting<16>(0x10);
  r.rank = 1;
  r.nranks = 2;
  r.host = "h";
  r.configured = true;
  r.min_slice = 0x0102030405060708;
  r.node_mbps = 25000;
  r.reached.push_back({counting<16>(0x30), "r0", 100000});
  r.missed.push_back({"r1", "no"});
  EXPECT_EQ(hex(encode(RendezvousType::kReport, encode_report(r))),
            "464e5256"
            "0400"
            "0100"
            "5d000000"
            "101112131415161718191a1b1c1d1e1f"
            "01000000"
            "02000000"
            "01000000"
            "68"
            "01"
            "00"
            "0807060504030201"
            "a8610000"
            "00000000"
            "01000000"
            "303132333435363738393a3b3c3d3e3f"
            "02000000"
            "7230"
            "a0860100"
            "01000000"
            "02000000"
            "7231"
            "02000000"
            "6e6f");
  Verdict v;
  v.use = true;
  v.strict = true;
  v.min_slice = 64;
  v.reducers.push_back(counting<16>(0x30));
  v.weights = {100000};
  v.reason = "x";
  EXPECT_EQ(hex(encode(RendezvousType::kPropose, encode_verdict(v))),
            "464e5256"
            "0400"
            "0200"
            "28000000"
            "01"
            "01"
            "4000000000000000"
            "01000000"
            "303132333435363738393a3b3c3d3e3f"
            "01"
            "a0860100"
            "01000000"
            "78");
  EXPECT_EQ(hex(encode(RendezvousType::kAck)),
            "464e5256"
            "0400"
            "0300"
            "00000000");
  EXPECT_EQ(hex(encode(RendezvousType::kCommit)),
            "464e5256"
            "0400"
            "0400"
            "00000000");
  EXPECT_EQ(hex(encode(RendezvousType::kNone, encode_verdict({}))),
            "464e5256"
            "0400"
            "0500"
            "13000000" +
                std::string(38, '0'));
  EXPECT_EQ(hex(encode(RendezvousType::kGreeting, std::string(32, 'n'))).substr(0, 24),
            "464e5256"
            "0400"
            "0600"
            "20000000");
  EXPECT_EQ(hex(encode(RendezvousType::kIntroduction, std::string(sizeof(Introduction), 'i'))).substr(0, 24),
            "464e5256"
            "0400"
            "0700"
            "38000000");
}

int pinned(RendezvousType t) {
  using enum RendezvousType;
  switch (t) {
    case kReport:
      return 1;
    case kPropose:
      return 2;
    case kAck:
      return 3;
    case kCommit:
      return 4;
    case kNone:
      return 5;
    case kGreeting:
      return 6;
    case kIntroduction:
      return 7;
  }
  return -1;
}

TEST(WireGoldenWorkers, Codes) {
  using namespace plugin::collnet;
  EXPECT_EQ(test::misplaced<RendezvousType>(pinned, 1, 8), "");
  EXPECT_EQ(kMaxBody, 1u << 20);
  EXPECT_EQ(kMaxReducers, 4096u);
}

TEST(WireGoldenWorkers, Handle) {
  Result<plugin::collnet::Handle> h =
      plugin::collnet::make_handle(tcp::Address::numeric("10.1.2.3", 0x1234).value());
  ASSERT_TRUE(h);
  memset(h->nonce, 0xaa, sizeof h->nonce);
  EXPECT_EQ(hex_of(*h),
            "464e4348"
            "0200"
            "0400" +
                std::string(32, 'a') + "0a010203" + std::string(24, '0') + "3412" + std::string(172, '0'));
  h->key.fill(0xbb);
  EXPECT_EQ(hex_of(*h).substr(84), std::string(32, 'b') + std::string(140, '0'));
}

TEST(WireGoldenWorkers, SealsOfTheRendezvous) {
  using namespace plugin::collnet;
  Handle handles[2]{};
  handles[1].nonce[0] = 1;
  void* pointers[] = {&handles[0], &handles[1]};
  const SessionKey key = session_key(*Secret::make("golden-secret-0123456789"), pointers, 2);
  EXPECT_EQ(hex_of(key.session), "5d00f81ecdd7ec267fd4be591480c57b85f5d961691e103edda3b5710dc618b6");
  wire::Nonce nonce;
  nonce.fill(0xaa);
  FrameSeal root(key, nonce, 3, FrameSeal::Side::kRoot), rank(key, nonce, 3, FrameSeal::Side::kRank);
  EXPECT_EQ(hex_of(root.next(2, "body")), "74b4d653be9eb3cba03fcb48f482dd1a2d145998f680eacb837751540988d17e");
  EXPECT_EQ(hex_of(rank.next(3, "")), "93bcbafbef770b61fed4a00eedeb25d6048dbd317b32736c9a294affb567ecac");
  EXPECT_EQ(hex_of(rank.next(3, "")), "2b90c58396bafe11f4c04eab1adce555b543eeb4f114f7e8e07fe7e6b76809df");
  Introduction i{};
  i.rank = 0x01020304;
  i.nranks = 0x11121314;
  i.proof.fill(0xbb);
  EXPECT_EQ(hex_of(i), std::string(32, '0') + "04030201" + "14131211" + std::string(64, 'b'));
  EXPECT_EQ(i.proved().size(), 24u);
}

TEST(WireGoldenWorkers, PointToPoint) {
  using namespace plugin::net;
  Hello h;
  h.index = 0x0102;
  h.count = 0x0304;
  h.nonce = 0x1112131415161718;
  h.connection = 0x2122232425262728;
  EXPECT_EQ(hex_of(h),
            "464e3250"
            "0200"
            "0201"
            "0403"
            "000000000000"
            "1817161514131211"
            "2827262524232221");
  h.proved = 1;
  EXPECT_EQ(hex_of(h).substr(20, 12), "010000000000");
  HelloProof p;
  p.nonce.fill(0xaa);
  p.proof.fill(0xbb);
  EXPECT_EQ(hex_of(p), std::string(64, 'a') + std::string(64, 'b'));
  // Both proofs of one socket, so that every build of this version can speak with every other.
  const Secret secret = *Secret::make("golden-secret-0123456789");
  const Ends ends{*tcp::Address::numeric("10.0.0.1", 4001), *tcp::Address::numeric("10.0.0.2", 4002)};
  EXPECT_EQ(hex_of(sender_proof(secret, h, p.nonce, ends)),
            "36e1da22f11421c8059a058330a1d26f7cdc612a7903176a70e79a71fa2f662e");
  EXPECT_EQ(hex_of(receiver_proof(secret, h, p.nonce, ends)),
            "95931a394899c7b579813dccaa2986b81b4f9f2da80d1383f7ddfd512a1fddd0");
  char handle[kHandleBytes];
  Handle described{*tcp::Address::numeric("10.1.2.3", 0x1234), 0x1112131415161718, {}, 0};
  described.key.fill(0xcc);
  described.write(handle);
  EXPECT_EQ(hex(std::string(handle, sizeof handle)),
            "66616e696e327000"
            "02000000"
            "0400"
            "3412"
            "0a010203000000000000000000000000"
            "00000000"
            "00000000"
            "1817161514131211" +
                std::string(16, '0') + std::string(32, 'c') + std::string(112, '0'));
  EXPECT_EQ(hex_of(Credit{0x01020304, 0x0506, 0x0708}),
            "04030201"
            "0605"
            "0807");
  EXPECT_EQ(hex_of(CreditPart{0x0102030405060708, 0x11121314, 0}),
            "0807060504030201"
            "14131211"
            "00000000");
  EXPECT_EQ(hex_of(Chunk{0x0102030405060708, 0x1112131415161718, 0x21222324, 0x31323334, 0x4142, 0x5152, 0}),
            "0807060504030201"
            "1817161514131211"
            "24232221"
            "34333231"
            "4241"
            "5251"
            "00000000");
}

}  // namespace
}  // namespace fanin
