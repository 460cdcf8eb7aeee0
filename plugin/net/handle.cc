#include "plugin/net/handle.h"

#include <cstring>

#include "plugin/net/frames.h"

namespace fanin::plugin::net {
namespace {

constexpr uint64_t kMagic = 0x70326e696e6166;  // "fanin2p" and a zero

struct Layout {
  uint64_t magic;
  uint32_t version;
  uint16_t family;  // 4 or 6
  uint16_t port;
  uint8_t ip[16];
  uint32_t scope;
  uint32_t reserved;
  uint64_t nonce;
  uint64_t attempt;
  wire::KeyId key;
  uint8_t unused[56];
};
static_assert(sizeof(Layout) == kHandleBytes);

}  // namespace

void Handle::write(void* bytes) const {
  Layout h{};
  h.magic = kMagic;
  h.version = kWireVersion;
  h.port = listener.port();
  if (listener.family() == AF_INET6) {
    auto* a = reinterpret_cast<const sockaddr_in6*>(listener.sa());
    h.family = 6;
    h.scope = a->sin6_scope_id;
    memcpy(h.ip, &a->sin6_addr, 16);
  } else {
    h.family = 4;
    memcpy(h.ip, &reinterpret_cast<const sockaddr_in*>(listener.sa())->sin_addr, 4);
  }
  h.nonce = nonce;
  h.attempt = attempt;
  h.key = key;
  memcpy(bytes, &h, sizeof h);
}

Result<Handle> Handle::read(const void* bytes) {
  Layout h;
  memcpy(&h, bytes, sizeof h);
  if (h.magic != kMagic)
    return Error(Errc::kInvalidArgument,
                 "the handle to connect to is not fanin's; load the same NCCL_NET_PLUGIN on every rank");
  if (h.version != kWireVersion || (h.family != 4 && h.family != 6))
    return Error(Errc::kInvalidArgument,
                 "the other rank's fanin speaks point-to-point version " + std::to_string(h.version) +
                     ", this one " + std::to_string(kWireVersion) + "; install the same fanin on every rank");
  Handle out;
  if (h.family == 6) {
    sockaddr_in6 a{};
    a.sin6_family = AF_INET6;
    a.sin6_scope_id = h.scope;
    memcpy(&a.sin6_addr, h.ip, 16);
    out.listener = tcp::Address(reinterpret_cast<sockaddr*>(&a), sizeof a);
  } else {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    memcpy(&a.sin_addr, h.ip, 4);
    out.listener = tcp::Address(reinterpret_cast<sockaddr*>(&a), sizeof a);
  }
  out.listener.set_port(h.port);
  out.nonce = h.nonce;
  out.attempt = h.attempt;
  out.key = h.key;
  return out;
}

}  // namespace fanin::plugin::net
