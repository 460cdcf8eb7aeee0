// What travels between the two sides of a point-to-point connection. Little-endian, fixed layout.
//
// A connection is one control socket (index 0) and 1 … kMaxDataSockets data sockets. Each begins with a Hello
// from the sending side; where the job has a secret, a HelloProof follows at once, and the receiver's first word on
// the control socket is its own proof, 32 bytes (plugin/net/proof.h). Then the receiver writes credits on the control socket, one per posted receive: a
// Credit and its CreditParts. The sender answers on any data socket with chunks: a Chunk and `length` bytes.
// Nothing is sent without a credit, so a receiver never holds data it has no place for. Nothing else travels
// in either direction.
#pragma once
#include <bit>
#include <cstdint>
#include <type_traits>

#include "fanin/wire.h"

namespace fanin::plugin::net {

static_assert(std::endian::native == std::endian::little, "frames are written as they lie in memory");

inline constexpr uint32_t kHelloMagic = 0x50324e46;  // "FN2P"
inline constexpr uint16_t kWireVersion = 2;
inline constexpr int kMaxDataSockets = 16;
inline constexpr int kMaxSockets = kMaxDataSockets + 1;

struct Hello {
  uint32_t magic = kHelloMagic;
  uint16_t version = kWireVersion;
  uint16_t index = 0;   // 0: control
  uint16_t count = 0;   // sockets of this connection
  uint16_t proved = 0;  // 1: a HelloProof follows
  uint16_t reserved[2] = {};
  uint64_t nonce = 0;       // of the listener's handle
  uint64_t connection = 0;  // random; which sockets belong together
};
static_assert(sizeof(Hello) == 32 && std::is_trivially_copyable_v<Hello>);

struct HelloProof {
  wire::Nonce nonce{};  // fresh; what the receiver proves itself over
  wire::Proof proof{};
};
static_assert(sizeof(HelloProof) == 64 && std::is_trivially_copyable_v<HelloProof>);

// A posted receive. The slot is the receiver's place for it, free again once every part has been answered.
struct Credit {
  uint32_t sequence = 0;
  uint16_t slot = 0;   // < kMaxRequests
  uint16_t parts = 0;  // 1 … kMaxGroupedReceives; as many CreditParts follow
};
static_assert(sizeof(Credit) == 8);

struct CreditPart {
  uint64_t bytes = 0;  // upper bound
  int32_t tag = 0;
  uint32_t reserved = 0;
};
static_assert(sizeof(CreditPart) == 16);

// A piece of the message for one part of a posted receive. Every message has at least one; pieces come in any
// order, and cover the message once. total above the credit's bytes, with length 0, says that the send did
// not fit.
struct Chunk {
  uint64_t offset = 0;
  uint64_t total = 0;  // bytes of the whole message
  uint32_t length = 0;
  uint32_t sequence = 0;
  uint16_t slot = 0;
  uint16_t part = 0;
  uint32_t reserved = 0;
};
static_assert(sizeof(Chunk) == 32);

}  // namespace fanin::plugin::net
