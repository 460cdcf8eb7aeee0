// The bytes between worker and reducer (fanin/wire.h, figures.h), pinned: a change of any layout, code or value here is a
// new protocol version. Those between workers: wire_golden_workers_test.cc.
#include <gtest/gtest.h>

#include "fanin/checksum.h"
#include "fanin/figures.h"
#include "fanin/proof.h"
#include "fanin/wire.h"
#include "reducer/handshake.h"
#include "tests/support/golden.h"

namespace fanin {
namespace {

using test::counting;
using test::hex;
using test::hex_of;
using test::misplaced;

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

// The other frames have the same headers, with text behind.
TEST(WireGolden, AbortGoodbyeAndWaiting) {
  wire::SliceHeader abort{};
  abort.type = wire::FrameType::kAbort;
  abort.text_bytes = 0x0104;
  abort.message = static_cast<uint64_t>(wire::AbortCode::kRankLeft);
  EXPECT_EQ(hex_of(abort),
            "03000000"
            "04010000"
            "0400000000000000" +
                std::string(96, '0'));
  wire::SliceHeader goodbye{};
  goodbye.type = wire::FrameType::kGoodbye;
  EXPECT_EQ(hex_of(goodbye), "04" + std::string(126, '0'));
  wire::ResultHeader waiting{};
  waiting.type = wire::FrameType::kWaiting;
  waiting.more = 1;
  waiting.pad[0] = 2;
  waiting.payload_bytes = 0x01020304;
  waiting.message = 0x1112131415161718;
  waiting.offset = 5000;
  EXPECT_EQ(hex_of(waiting),
            "05010200"
            "04030201"
            "1817161514131211"
            "8813000000000000"
            "0000000000000000");
}

// 1, 2, 3 and 4 as floats.
TEST(WireGolden, Figures) {
  const wire::PoolFigures figures = [] {
    wire::PoolFigures f{};
    f.small_us = 1;
    f.chunk_us = 2;
    f.pool_rate = 3;
    f.link_rate = 4;
    return f;
  }();
  const std::string floats =
      "0000803f"
      "00000040"
      "00004040"
      "00008040";
  wire::FiguresAsk ask{};
  ask.preamble = {wire::kMagic, wire::kVersion, sizeof ask};
  ask.measured = 0x01020304;
  ask.reserved = 0x11121314;
  ask.figures = figures;
  EXPECT_EQ(hex_of(ask),
            "4641494e03002000"
            "04030201"
            "14131211" +
                floats);
  wire::FiguresAnswer answer{};
  answer.preamble = {wire::kMagic, wire::kVersion, sizeof answer};
  answer.agreed = 0x01020304;
  answer.measured = 0x11121314;
  answer.figures = figures;
  EXPECT_EQ(hex_of(answer),
            "4641494e03002000"
            "04030201"
            "14131211" +
                floats);
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
  EXPECT_EQ(wire::kNoRank, 0xffffffffu);
  EXPECT_EQ(wire::kFiguresLane, 0x80000000u);
}

int pinned(wire::FrameType t) {
  using enum wire::FrameType;
  switch (t) {
    case kSlice:
      return 1;
    case kResult:
      return 2;
    case kAbort:
      return 3;
    case kGoodbye:
      return 4;
    case kWaiting:
      return 5;
  }
  return -1;
}
int pinned(wire::Refusal r) {
  using enum wire::Refusal;
  switch (r) {
    case kNone:
      return 0;
    case kVersion:
      return 1;
    case kMalformed:
      return 2;
    case kNoMemory:
      return 3;
    case kDraining:
      return 4;
    case kDuplicate:
      return 5;
    case kMismatch:
      return 6;
    case kTooMany:
      return 7;
    case kBroken:
      return 8;
    case kAuth:
      return 9;
    case kChallenge:
      return 10;
    case kAnswer:
      return 11;
  }
  return -1;
}
int pinned(wire::AbortCode c) {
  using enum wire::AbortCode;
  switch (c) {
    case kRankLost:
      return 1;
    case kDisagreement:
      return 2;
    case kProtocol:
      return 3;
    case kRankLeft:
      return 4;
    case kShutdown:
      return 5;
    case kInternal:
      return 6;
    case kTimeout:
      return 7;
    case kDamaged:
      return 8;
  }
  return -1;
}
int pinned(DType t) {
  using enum DType;
  switch (t) {
    case kI8:
      return 0;
    case kU8:
      return 1;
    case kI32:
      return 2;
    case kU32:
      return 3;
    case kI64:
      return 4;
    case kU64:
      return 5;
    case kF16:
      return 6;
    case kF32:
      return 7;
    case kF64:
      return 8;
    case kBF16:
      return 9;
    case kE4M3:
      return 10;
    case kE5M2:
      return 11;
  }
  return -1;
}
int pinned(RedOp op) {
  using enum RedOp;
  switch (op) {
    case kSum:
      return 0;
    case kProd:
      return 1;
    case kMax:
      return 2;
    case kMin:
      return 3;
  }
  return -1;
}
int pinned(Coll c) {
  using enum Coll;
  switch (c) {
    case kAllReduce:
      return 0;
    case kAllGather:
      return 1;
    case kReduceScatter:
      return 2;
  }
  return -1;
}

TEST(WireGolden, Codes) {
  EXPECT_EQ(misplaced<wire::FrameType>(pinned, 1, 6), "");
  EXPECT_EQ(misplaced<wire::Refusal>(pinned, 0, 12), "");
  EXPECT_EQ(misplaced<wire::AbortCode>(pinned, 1, 9), "");
  EXPECT_EQ(misplaced<DType>(pinned, 0, 12), "");
  EXPECT_EQ(misplaced<RedOp>(pinned, 0, 4), "");
  EXPECT_EQ(misplaced<Coll>(pinned, 0, 3), "");
  EXPECT_EQ(wire::kNumRefusals, 12u);
  EXPECT_EQ(wire::kNumAbortCodes, 9u);
  EXPECT_EQ(kNumDTypes, 12);
  EXPECT_EQ(kNumRedOps, 4);
  EXPECT_EQ(kNumColls, 3);
}

}  // namespace
}  // namespace fanin
