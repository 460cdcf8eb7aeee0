#include "plugin/collnet/handle.h"

#include <arpa/inet.h>
#include <sys/random.h>

#include <cerrno>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace fanin::plugin::collnet {
namespace {

constexpr uint32_t kMagic = 0x48434e46;  // "FNCH"
constexpr uint16_t kVersion = 2;

}  // namespace

Result<Handle> make_handle(const tcp::Address& listener, const wire::KeyId& key) {
  Handle h{};
  h.magic = kMagic;
  h.version = kVersion;
  h.port = listener.port();
  h.key = key;
  if (listener.family() == AF_INET) {
    h.family = 4;
    memcpy(h.ip, &reinterpret_cast<const sockaddr_in*>(listener.sa())->sin_addr, 4);
  } else if (listener.family() == AF_INET6) {
    h.family = 6;
    memcpy(h.ip, &reinterpret_cast<const sockaddr_in6*>(listener.sa())->sin6_addr, 16);
  } else {
    return Error(Errc::kInternal, "a listener without IP address");
  }
  if (getrandom(h.nonce, sizeof h.nonce, 0) != sizeof h.nonce) return system_error("getrandom", errno);
  return h;
}

Result<tcp::Address> handle_address(const Handle& h, int rank, const tcp::Address& local) {
  if (h.magic != kMagic || h.version != kVersion || (h.family != 4 && h.family != 6))
    return Error(Errc::kInvalidUsage,
                 "rank " + std::to_string(rank) +
                     " runs another plugin or another version of fanin; install the same "
                     "libnccl-net-fanin.so on every host");
  if (h.family == 4) {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_port = htons(h.port);
    memcpy(&a.sin_addr, h.ip, 4);
    return tcp::Address(reinterpret_cast<sockaddr*>(&a), sizeof a);
  }
  sockaddr_in6 a{};
  a.sin6_family = AF_INET6;
  a.sin6_port = htons(h.port);
  memcpy(&a.sin6_addr, h.ip, 16);
  if (IN6_IS_ADDR_LINKLOCAL(&a.sin6_addr) && local.family() == AF_INET6)
    a.sin6_scope_id = reinterpret_cast<const sockaddr_in6*>(local.sa())->sin6_scope_id;
  return tcp::Address(reinterpret_cast<sockaddr*>(&a), sizeof a);
}

wire::SessionId session_id(void* const* handles, int nranks) {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  for (int i = 0; i < nranks; ++i) XXH3_128bits_update(&state, handles[i], sizeof(Handle));
  XXH128_canonical_t out;
  XXH128_canonicalFromHash(&out, XXH3_128bits_digest(&state));
  wire::SessionId id;
  static_assert(sizeof id == sizeof out);
  memcpy(id.data(), &out, sizeof out);
  return id;
}

SessionKey session_key(const Secret& secret, void* const* handles, int nranks) {
  // Each under all before it, from rank 0 on: a hash over all of them in order, in pieces.
  wire::Proof chain{};
  for (int i = 0; i < nranks; ++i)
    chain = secret.prove("fanin rdv handle",
                         {std::as_bytes(std::span(chain)),
                          std::span(static_cast<const std::byte*>(handles[i]), sizeof(Handle))});
  return {secret, chain};
}

std::string secrets_differ(void* const* handles, int nranks) {
  auto handle = [&](int rank) {
    Handle h;
    memcpy(&h, handles[rank], sizeof h);
    return h;
  };
  auto key = [&](int rank) { return handle(rank).key; };
  auto name = [&](int rank) {
    const Handle h = handle(rank);
    char ip[INET6_ADDRSTRLEN] = "";
    inet_ntop(h.family == 4 ? AF_INET : AF_INET6, h.ip, ip, sizeof ip);
    return "rank " + std::to_string(rank) + " (" + ip + ")";
  };
  for (int r = 0; r < nranks; ++r)
    if (key(r) == kUnreadable) return name(r) + " cannot read the job's secret; its own log says why";
  for (int r = 1; r < nranks; ++r) {
    if (key(r) == key(0)) continue;
    const bool none = key(r) == wire::KeyId{}, none0 = key(0) == wire::KeyId{};
    return name(r) +
           (none    ? " has no secret, " + name(0) + " has one"
            : none0 ? " has a secret, " + name(0) + " has none"
                    : " has another secret than " + name(0)) +
           "; set the same FANIN_SECRET_FILE on all ranks of the job";
  }
  return {};
}

}  // namespace fanin::plugin::collnet
