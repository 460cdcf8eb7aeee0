// The 128 bytes NCCL carries from every rank to every rank before connect: where rank 0 listens, a nonce, and which secret
// the rank has.
//
// The session id is a hash of all handles: ranks that were given the same handles get the same id, and nobody
// else can guess it. Free functions on plain values; any thread.
#pragma once
#include <cstdint>
#include <string>

#include "fanin/error.h"
#include "fanin/wire.h"
#include "plugin/collnet/frame_seal.h"
#include "transport/tcp/address.h"

namespace fanin::plugin::collnet {

struct Handle {
  uint32_t magic;
  uint16_t version;
  uint16_t family;  // 4 or 6
  uint8_t nonce[16];
  uint8_t ip[16];  // IPv4: the first four
  uint16_t port;
  wire::KeyId
      key;  // of the rank's secret; zero: it has none; kUnreadable: it cannot read what it was told to
  uint8_t zero[70];
};
static_assert(sizeof(Handle) == 128);

inline constexpr wire::KeyId kUnreadable = [] {
  wire::KeyId k{};
  k.fill(0xff);
  return k;
}();

// With a fresh nonce from the kernel.
Result<Handle> make_handle(const tcp::Address& listener, const wire::KeyId& key = {});
// Checks magic and version; the error says which rank's handle it is. local: this rank's own address, whose
// scope a link-local IPv6 address is reached through.
Result<tcp::Address> handle_address(const Handle& handle, int rank, const tcp::Address& local);
// handles: nranks pointers to sizeof(Handle) bytes each, in rank order.
wire::SessionId session_id(void* const* handles, int nranks);
// What ranks seal the frames of their agreement with (frame_seal.h).
SessionKey session_key(const Secret& secret, void* const* handles, int nranks);
// Empty when all ranks have the same secret, or none; else which rank has another, or cannot read its own. The same on
// every rank.
std::string secrets_differ(void* const* handles, int nranks);

}  // namespace fanin::plugin::collnet
