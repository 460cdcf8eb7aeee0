// The wire between a worker (plugin) and a reducer, protocol version 3. docs/protocol.md is the same in
// prose.
//
// One TCP connection joins one worker rank to one reducer lane for one session. All integers are
// little-endian, all structs fixed-size without hidden padding (asserted below).
//
//   worker                                   reducer
//   Hello{kAsk} ------------------------->          on a connection of its own
//          <-------------------------------  Welcome{kAnswer}: lanes, and at which addresses
//
//   Hello  ------------------------------->          deadline-bounded; a stranger is dropped here
//          <-------------------------------  Welcome{kChallenge}      only where both sides have a secret
//   HelloProof  -------------------------->
//          <-------------------------------  Welcome admitted, or refused with a code and a sentence
//   SliceHeader payload SliceHeader … ---->          in message order, identical order on every rank
//          <-------------  ResultHeader payload …   in block order
//   SliceHeader{kGoodbye} ---------------->          clean leave; the reducer then closes
//          <-------------------------------  ResultHeader{kWaiting} text: who is waited for
//   either side: kAbort + text, then close
//
// Every worker->reducer frame starts with a SliceHeader, every reducer->worker frame with a ResultHeader,
// whatever its type, so that a reader always knows how many bytes the next header has.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "fanin/dtype.h"

namespace fanin::wire {

static_assert(std::endian::native == std::endian::little, "the wire is little-endian and written in place");

inline constexpr uint32_t kMagic = 0x4e494146;  // "FAIN"
inline constexpr uint16_t kVersion = 3;

inline constexpr uint32_t kMaxRanks = 4096;
inline constexpr uint32_t kMaxLanes = 256;  // per reducer
inline constexpr uint32_t kMinBlockBytes = 4096;
inline constexpr uint32_t kMaxBlockBytes = 4u << 20;
inline constexpr uint64_t kMaxMessageBytes = 1ull << 40;
inline constexpr uint64_t kMaxWindowBytes = 1ull << 36;  // per reducer
inline constexpr uint32_t kMaxText = 1024;               // a refusal's or abort's sentence

inline constexpr uint32_t kNoRank = 0xffffffff;  // an abort that is about no rank

// A session's capabilities. With checksums, `reserved` of every header of the data path is a sum (fanin/checksum.h), and
// each part of a block that a rank sends is followed by its sum; results are never divided.
inline constexpr uint32_t kChecksums = 1;
inline constexpr uint32_t kSumBytes = 8;

// Hello.capabilities: do not join, tell. Whoever asks is answered and joins nothing.
inline constexpr uint32_t kAsk = 2;

using SessionId = std::array<uint8_t, 16>;
using ReducerId = std::array<uint8_t, 16>;  // random, new at each start of a reducer
using KeyId = std::array<uint8_t, 16>;      // names a job's secret without telling it; zero: no secret
using Nonce = std::array<uint8_t, 32>;
using Proof = std::array<uint8_t, 32>;  // a keyed hash; what it is over: fanin/proof.h

// First eight bytes of all handshake structs, whatever the version: enough to refuse another version
// politely.
struct Preamble {
  uint32_t magic;
  uint16_t version;
  uint16_t bytes;  // size of the whole struct, preamble included
};
static_assert(sizeof(Preamble) == 8);

struct Hello {
  Preamble preamble;
  SessionId session;
  uint32_t rank, nranks;
  uint32_t lane;          // lane of this reducer, 0 … Welcome.lanes-1
  uint32_t capabilities;  // kAsk, kChecksums or 0
  uint64_t
      window_bytes;  // what this worker wants outstanding on all lanes together; answered in blocks per lane
  KeyId key;         // of the job's secret
  Nonce nonce;       // fresh; zero without a secret
};
static_assert(sizeof(Hello) == 96 && offsetof(Hello, rank) == 24 && offsetof(Hello, window_bytes) == 40 &&
              offsetof(Hello, key) == 48 && offsetof(Hello, nonce) == 64);

// The worker's answer to a challenge.
struct HelloProof {
  Preamble preamble;
  Proof proof;
};
static_assert(sizeof(HelloProof) == 40);

enum class Refusal : uint32_t {
  kNone = 0,       // admitted
  kVersion = 1,    // protocol versions differ
  kMalformed = 2,  // a field is outside its range
  kNoMemory = 3,   // admission: the session does not fit --memory
  kDraining = 4,   // SIGTERM: no new sessions
  kDuplicate = 5,  // this rank is already connected to this lane
  kMismatch = 6,   // nranks differs from what the session's other ranks said
  kTooMany = 7,    // a limit on connections or sessions
  kBroken = 8,     // the session was aborted already
  kAuth = 9,       // a secret is missing, unknown, or was not proved
  // Not a refusal: the reducer has proved the secret (nonce, proof; the other fields are zero), now the worker shall.
  kChallenge = 10,
  // Not a refusal: the answer to kAsk. The text has a line for each address of the reducer, "10.0.0.7:4000 100000": with
  // the NIC's speed in Mbit/s, 0 where it is unknown.
  kAnswer = 11,
};
inline constexpr uint32_t kNumRefusals = 12;

struct Welcome {  // followed by text_bytes of UTF-8
  Preamble preamble;
  Refusal refusal;
  uint32_t lanes;        // lanes of this reducer
  uint32_t block_bytes;  // multiple of 64
  uint32_t
      window_blocks;  // blocks this rank may have outstanding on this lane (sent, result not yet received)
  ReducerId reducer;
  uint32_t capabilities;  // of the session: as all its Hellos
  uint32_t text_bytes;    // <= kMaxText; the refusal's sentence
  Nonce nonce;            // kChallenge: fresh; else zero
  Proof proof;            // zero where no secret was agreed on
};
static_assert(sizeof(Welcome) == 112 && offsetof(Welcome, reducer) == 24 &&
              offsetof(Welcome, text_bytes) == 44 && offsetof(Welcome, nonce) == 48 &&
              offsetof(Welcome, proof) == 80);

enum class FrameType : uint8_t { kSlice = 1, kResult = 2, kAbort = 3, kGoodbye = 4, kWaiting = 5 };

// Why a session ended, in kAbort frames.
enum class AbortCode : uint32_t {
  kRankLost = 1,      // rank vanished: its connection broke or closed without goodbye
  kDisagreement = 2,  // two ranks described one message differently
  kProtocol = 3,      // a frame was impossible
  kRankLeft = 4,      // rank said goodbye while others still needed it
  kShutdown = 5,      // the reducer was told to exit at once
  kInternal = 6,
  kTimeout = 7,  // a rank was silent for too long
  kDamaged = 8,  // bytes arrived with another checksum than they were sent with
};
inline constexpr uint32_t kNumAbortCodes = 9;  // none is 0

// One slice of one message. The range [offset, offset+length) is of the message's window: the whole buffer
// for all-reduce, [window_offset, window_offset+message_bytes) of the concatenation of all ranks'
// bytes_per_rank bytes for all-gather and reduce-scatter. Payload: all-reduce, reduce-scatter: length bytes.
// All-gather: the part of the range this rank owns (may be empty).
struct SliceHeader {
  FrameType type;  // kSlice, kAbort or kGoodbye
  Coll coll;
  DType dtype;
  RedOp op;
  uint32_t text_bytes;     // kAbort: bytes of text that follow; else 0
  uint64_t message;        // 0, 1, 2 … per session, the same on every rank. kAbort: AbortCode
  uint64_t message_bytes;  // of the window. kGoodbye, kAbort: 0
  uint64_t offset;
  uint64_t length;
  uint64_t bytes_per_rank;  // all-gather, reduce-scatter; else 0
  uint64_t window_offset;   // all-gather, reduce-scatter; else 0
  uint64_t reserved;        // 0; with checksums: of the 56 bytes before
};
static_assert(sizeof(SliceHeader) == 64 && offsetof(SliceHeader, message) == 8);

// One block of one slice's result, or, in an all-reduce, a part of it: a block comes in frames that follow each other
// without gap, `more` set in all but the last. payload_bytes is what this rank gets of the block's range (reduce-scatter:
// the part it owns, maybe none); offset is where in the message's window that payload starts. Every block is
// answered to every rank, empty or not: the answer is what opens the window again.
struct ResultHeader {
  FrameType type;          // kResult or kAbort
  uint8_t more;            // kResult: 1 when another frame of the same block follows; else 0
  uint8_t pad[2];          // 0
  uint32_t payload_bytes;  // kAbort: bytes of text that follow
  uint64_t message;  // kAbort: AbortCode in the low half, the rank it is about (or kNoRank) in the high half
  uint64_t offset;
  uint64_t reserved;  // 0; with checksums: of the 24 bytes before and of the payload
};
static_assert(sizeof(ResultHeader) == 32 && offsetof(ResultHeader, message) == 8);
static_assert(std::is_trivially_copyable_v<Hello> && std::is_trivially_copyable_v<Welcome> &&
              std::is_trivially_copyable_v<SliceHeader> && std::is_trivially_copyable_v<ResultHeader>);

}  // namespace fanin::wire
