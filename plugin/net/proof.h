// What the two sides of a point-to-point socket prove to each other where the job has a secret.
//
// Without a round trip, since NCCL's connect may not wait for the other side's accept: what each side is to answer has
// come to it already. The listener's challenge is the nonce of its handle, new for each listener; the sender's is the
// nonce in its HelloProof. Every proof is over both, the whole Hello (version, connection, which of how many sockets),
// the secret's id and both ends' addresses and ports as the hosts at the ends see them. So a proof heard on the
// network fits no other listener, connection or socket, nor another TCP connection to the same listener (a listener
// takes each connection once), nor the other direction. Address translation between workers makes it fail.
// Pure functions; any thread.
#pragma once
#include <algorithm>
#include <array>
#include <span>

#include "fanin/secret.h"
#include "plugin/net/frames.h"
#include "transport/tcp/address.h"

namespace fanin::plugin::net {

// The ends of one socket.
struct Ends {
  tcp::Address listener, sender;
};

namespace proof_detail {
// Zones are each host's own names for its links and no part of it.
struct Context {
  std::array<uint8_t, 16> listener_ip, sender_ip;
  uint16_t listener_port, sender_port;
  uint32_t zero;
  wire::KeyId key;
};
static_assert(sizeof(Context) == 56);

inline wire::Proof prove(const Secret& secret, std::string_view purpose, const Hello& hello,
                         const wire::Nonce& nonce, const Ends& ends) {
  const Context c{
      ends.listener.bytes(), ends.sender.bytes(), ends.listener.port(), ends.sender.port(), 0, secret.id()};
  return secret.prove(purpose, {std::as_bytes(std::span(&hello, 1)), std::as_bytes(std::span(nonce)),
                                std::as_bytes(std::span(&c, 1))});
}
}  // namespace proof_detail

// In HelloProof, on every socket.
inline wire::Proof sender_proof(const Secret& secret, const Hello& hello, const wire::Nonce& nonce,
                                const Ends& ends) {
  return proof_detail::prove(secret, "fanin p2p sender", hello, nonce, ends);
}
// The receiver's first word, on the control socket; hello, nonce and ends are that socket's.
inline wire::Proof receiver_proof(const Secret& secret, const Hello& hello, const wire::Nonce& nonce,
                                  const Ends& ends) {
  return proof_detail::prove(secret, "fanin p2p recver", hello, nonce, ends);
}

}  // namespace fanin::plugin::net
