// The 128 bytes NCCL carries from every rank to every rank before connect: where rank 0 listens, and a nonce.
//
// The session id is a hash of all handles: ranks that were given the same handles get the same id, and nobody
// else can guess it. Free functions on plain values; any thread.
#pragma once
#include <cstdint>
#include <string>

#include "fanin/error.h"
#include "fanin/wire.h"
#include "transport/tcp/address.h"

namespace fanin::plugin::collnet {

struct Handle {
  uint32_t magic;
  uint16_t version;
  uint16_t family;  // 4 or 6
  uint8_t nonce[16];
  uint8_t ip[16];  // IPv4: the first four
  uint16_t port;
  uint8_t zero[86];
};
static_assert(sizeof(Handle) == 128);

// With a fresh nonce from the kernel.
Result<Handle> make_handle(const tcp::Address& listener);
// Checks magic and version; the error says which rank's handle it is. local: this rank's own address, whose
// scope a link-local IPv6 address is reached through.
Result<tcp::Address> handle_address(const Handle& handle, int rank, const tcp::Address& local);
// handles: nranks pointers to sizeof(Handle) bytes each, in rank order.
wire::SessionId session_id(void* const* handles, int nranks);

}  // namespace fanin::plugin::collnet
