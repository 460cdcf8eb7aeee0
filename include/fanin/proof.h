// What worker and reducer prove to each other in the handshake: that they know the secret, and see the same handshake.
//
// Each proof is over a purpose of its own and everything said before it, so over both nonces, the protocol version,
// session, rank, nranks, lane, window and capabilities: a proof from another connection, of the other side, or of another
// step never fits (no replay, no reflection, no downgrade). Pure functions; any thread.
#pragma once
#include <string_view>

#include "fanin/secret.h"
#include "fanin/wire.h"

namespace fanin {

namespace proof_detail {
template <class T>
std::span<const std::byte> bytes_of(const T& t) {
  return std::as_bytes(std::span(&t, 1));
}
}  // namespace proof_detail

// Of the reducer, in its challenge; over Hello and the challenge without the proof.
inline wire::Proof reducer_proof(const Secret& secret, const wire::Hello& hello, wire::Welcome challenge) {
  using proof_detail::bytes_of;
  challenge.proof = {};
  return secret.prove("fanin reducer   ", {bytes_of(hello), bytes_of(challenge)});
}
// Of the worker, in HelloProof; over Hello and the challenge.
inline wire::Proof worker_proof(const Secret& secret, const wire::Hello& hello,
                                const wire::Welcome& challenge) {
  using proof_detail::bytes_of;
  return secret.prove("fanin worker    ", {bytes_of(hello), bytes_of(challenge)});
}
// Of the reducer, in the Welcome that ends an authenticated handshake, with or without a refusal; over Hello, the
// challenge, this Welcome without the proof, and its text.
inline wire::Proof welcome_proof(const Secret& secret, const wire::Hello& hello,
                                 const wire::Welcome& challenge, wire::Welcome welcome,
                                 std::string_view text) {
  using proof_detail::bytes_of;
  welcome.proof = {};
  return secret.prove("fanin welcome   ", {bytes_of(hello), bytes_of(challenge), bytes_of(welcome),
                                           std::as_bytes(std::span(text.data(), text.size()))});
}

}  // namespace fanin
