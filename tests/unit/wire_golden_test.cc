// The bytes on the wire, pinned: a change of any layout, code or value here is a new protocol version.
//
// Between worker and reducer (fanin/wire.h), and between workers (rendezvous, handle, point-to-point hello).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "fanin/checksum.h"
#include "fanin/proof.h"
#include "fanin/wire.h"
#include "plugin/collnet/handle.h"
#include "plugin/collnet/rendezvous_wire.h"
#include "plugin/net/handle.h"
#include "plugin/net/proof.h"
#include "reducer/handshake.h"

namespace fanin {
namespace {

template <class T>
std::string hex(const T& bytes) {
  std::string out;
  for (auto b : bytes) {
    const auto u = static_cast<unsigned char>(b);
    out += "0123456789abcdef"[u >> 4];
    out += "0123456789abcdef"[u & 15];
  }
  return out;
}
template <class T>
std::string hex_of(const T& frame) {
  std::array<unsigned char, sizeof frame> bytes;
  memcpy(bytes.data(), &frame, sizeof frame);
  return hex(bytes);
}
// Bytes first, first+1, …
template <size_t N>
std::array<uint8_t, N> counting(uint8_t first) {
  std::array<uint8_t, N> a;
  for (auto& b : a) b = first++;
  return a;
}

wire::Hello hello() {
  wire::Hello h{};
  h.preamble = {wire::kMagic, wire::kVersion, sizeof h};
  h.session = counting<16>(0x10);
  h.rank = 0x01020304;
  h.nranks = 0x11121314;
  h.lane = 0x21222324;
  h.capabilities = 0x31323334;
  h.window_bytes = 0x4142434445464748;
  h.key = counting<16>(0x50);
  h.nonce = counting<32>(0x60);
  return h;
}
wire::Welcome welcome() {
  wire::Welcome w{};
  w.refusal = wire::Refusal::kDuplicate;
  w.lanes = 0x01020304;
  w.block_bytes = 0x11121314;
  w.window_blocks = 0x21222324;
  w.reducer = counting<16>(0x30);
  w.nonce = counting<32>(0x40);
  w.proof = counting<32>(0x60);
  return w;
}

TEST(WireGolden, Hello) {
  EXPECT_EQ(hex_of(hello()),
            "4641494e03006000"
            "101112131415161718191a1b1c1d1e1f"
            "04030201"
            "14131211"
            "24232221"
            "34333231"
            "4847464544434241"
            "505152535455565758595a5b5c5d5e5f"
            "606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f");
}

TEST(WireGolden, Welcome) {
  EXPECT_EQ(hex(reducer::welcome_bytes(welcome(), "hi")),
            "4641494e03007000"
            "05000000"
            "04030201"
            "14131211"
            "24232221"
            "303132333435363738393a3b3c3d3e3f"
            "00000000"
            "02000000"
            "404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f"
            "606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f"
            "6869");
}

TEST(WireGolden, HelloProof) {
  EXPECT_EQ(
      hex_of(wire::HelloProof{{wire::kMagic, wire::kVersion, sizeof(wire::HelloProof)}, counting<32>(0x80)}),
      "4641494e03002800"
      "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f");
}

// Computed with Python's hashlib.blake2b from the bytes above.
TEST(WireGolden, Proofs) {
  const Secret s = *Secret::make("0123456789abcdef");
  wire::Welcome challenge = welcome(), last = welcome();
  challenge.preamble = last.preamble = {wire::kMagic, wire::kVersion, sizeof(wire::Welcome)};
  challenge.refusal = wire::Refusal::kChallenge;
  EXPECT_EQ(hex(s.id()), "5790d4c57cdc22b80c1ae369175fb326");
  EXPECT_EQ(hex(reducer_proof(s, hello(), challenge)),
            "dfde560a581f8e932fd37b2d493644264633cc1bbb52b728c875987dbe6f2a56");
  EXPECT_EQ(hex(worker_proof(s, hello(), challenge)),
            "bd891ced8e9cc1c8f3c8c6cc41e40a7f017481eb0375ed65072974d8fbdc6aa7");
  EXPECT_EQ(hex(welcome_proof(s, hello(), challenge, last, "hi")),
            "1b34e0a74f0eb7dcd896aa566c6d081b65ec55fac46ddd15191747f75c161388");
}

TEST(WireGolden, SliceHeader) {
  wire::SliceHeader h{};
  h.type = wire::FrameType::kSlice;
  h.coll = Coll::kReduceScatter;
  h.dtype = DType::kBF16;
  h.op = RedOp::kMin;
  h.text_bytes = 0x01020304;
  h.message = 0x1112131415161718;
  h.message_bytes = 0x2122232425262728;
  h.offset = 0x3132333435363738;
  h.length = 0x4142434445464748;
  h.bytes_per_rank = 0x5152535455565758;
  h.window_offset = 0x6162636465666768;
  h.reserved = 0x7172737475767778;
  EXPECT_EQ(hex_of(h),
            "01020903"
            "04030201"
            "1817161514131211"
            "2827262524232221"
            "3837363534333231"
            "4847464544434241"
            "5857565554535251"
            "6867666564636261"
            "7877767574737271");
}

TEST(WireGolden, ResultHeader) {
  wire::ResultHeader h{};
  h.type = wire::FrameType::kResult;
  h.payload_bytes = 0x01020304;
  h.message = 0x1112131415161718;
  h.offset = 0x2122232425262728;
  h.reserved = 0x3132333435363738;
  EXPECT_EQ(hex_of(h),
            "02000000"
            "04030201"
            "1817161514131211"
            "2827262524232221"
            "3837363534333231");
}

// Computed with libxxhash from Python.
TEST(WireGolden, Checksums) {
  wire::SliceHeader s{};
  s.type = wire::FrameType::kSlice;
  s.coll = Coll::kReduceScatter;
  s.dtype = DType::kBF16;
  s.op = RedOp::kMin;
  s.text_bytes = 0x01020304;
  s.message = 0x1112131415161718;
  s.message_bytes = 0x2122232425262728;
  s.offset = 0x3132333435363738;
  s.length = 0x4142434445464748;
  s.bytes_per_rank = 0x5152535455565758;
  s.window_offset = 0x6162636465666768;
  s.reserved = 0x7172737475767778;  // not of the sum
  EXPECT_EQ(header_sum(s), 0x956e992215471a4d);
  const auto part = counting<512>(0);
  EXPECT_EQ(part_sum(header_sum(s), 0x1000, part.data(), part.size()), 0xf1d80832cae43b1f);
  wire::ResultHeader r{};
  r.type = wire::FrameType::kResult;
  r.payload_bytes = 0x01020304;
  r.message = 0x1112131415161718;
  r.offset = 0x2122232425262728;
  r.reserved = 0x3132333435363738;
  EXPECT_EQ(frame_sum(r, part.data(), part.size()), 0x74b3ce8494155b19);
  EXPECT_EQ(wire::kChecksums, 1u);
  EXPECT_EQ(wire::kSumBytes, 8u);
}

TEST(WireGolden, Limits) {
  EXPECT_EQ(wire::kVersion, 3);
  EXPECT_EQ(wire::kAsk, 2u);
  EXPECT_EQ(wire::kMaxRanks, 4096u);
  EXPECT_EQ(wire::kMaxLanes, 256u);
  EXPECT_EQ(wire::kMinBlockBytes, 4096u);
  EXPECT_EQ(wire::kMaxBlockBytes, 4u << 20);
  EXPECT_EQ(wire::kMaxMessageBytes, 1ull << 40);
  EXPECT_EQ(wire::kMaxWindowBytes, 1ull << 36);
  EXPECT_EQ(wire::kMaxText, 1024u);
  EXPECT_EQ(static_cast<int>(wire::FrameType::kSlice), 1);
  EXPECT_EQ(static_cast<int>(wire::FrameType::kResult), 2);
  EXPECT_EQ(static_cast<int>(wire::FrameType::kAbort), 3);
  EXPECT_EQ(static_cast<int>(wire::FrameType::kGoodbye), 4);
}

TEST(WireGolden, RefusalsAndAborts) {
  using wire::AbortCode;
  using wire::Refusal;
  const Refusal refusals[] = {Refusal::kNone,     Refusal::kVersion,   Refusal::kMalformed,
                              Refusal::kNoMemory, Refusal::kDraining,  Refusal::kDuplicate,
                              Refusal::kMismatch, Refusal::kTooMany,   Refusal::kBroken,
                              Refusal::kAuth,     Refusal::kChallenge, Refusal::kAnswer};
  for (uint32_t i = 0; i < std::size(refusals); ++i) EXPECT_EQ(static_cast<uint32_t>(refusals[i]), i);
  EXPECT_EQ(std::size(refusals), wire::kNumRefusals);
  const AbortCode aborts[] = {AbortCode::kRankLost, AbortCode::kDisagreement, AbortCode::kProtocol,
                              AbortCode::kRankLeft, AbortCode::kShutdown,     AbortCode::kInternal,
                              AbortCode::kTimeout,  AbortCode::kDamaged};
  for (uint32_t i = 0; i < std::size(aborts); ++i) EXPECT_EQ(static_cast<uint32_t>(aborts[i]), i + 1);
}

TEST(WireGolden, Rendezvous) {
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
}

TEST(WireGolden, Handle) {
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

TEST(WireGolden, SealsOfTheRendezvous) {
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

TEST(WireGolden, PointToPoint) {
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
