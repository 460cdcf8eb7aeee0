// The 128 bytes that describe a listener to a connecting rank, and in which connect keeps its place between
// calls.
//
// NCCL copies the bytes to the other rank as they are and hands connect the same copy again until it is done.
// Plain value; any thread.
#pragma once
#include <cstdint>

#include "fanin/error.h"
#include "fanin/wire.h"
#include "plugin/net/net.h"
#include "transport/tcp/address.h"

namespace fanin::plugin::net {

struct Handle {
  tcp::Address listener;
  uint64_t nonce = 0;    // proves that who connects has the handle
  wire::KeyId key{};     // names the secret that the listener asks for; zero: none
  uint64_t attempt = 0;  // 0: connect not begun; else the connecting process's own number for it

  void write(void* bytes) const;
  // Error (kInvalidArgument) when the bytes are not a handle of this version.
  static Result<Handle> read(const void* bytes);
};

}  // namespace fanin::plugin::net
