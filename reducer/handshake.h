// The reducer's half of the handshake, as pure functions on bytes: is this a worker, what is wrong with its
// Hello, and what to answer. Any thread.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "fanin/wire.h"

namespace fanin::reducer {

// What `have` bytes of a Hello tell.
enum class HelloState {
  kMore,      // so far it is one
  kStranger,  // not fanin's protocol: drop without a word
  kVersion,   // fanin, another version: refuse politely
  kComplete,  // sizeof(wire::Hello) bytes of ours
};
HelloState hello_state(const std::byte* bytes, size_t have);

// Whether `have` bytes may be the beginning of a HelloProof.
bool proof_so_far(const std::byte* bytes, size_t have);

// The sentence for a peer of another version: which side to upgrade.
std::string version_text(uint16_t theirs);

// What is impossible in a complete Hello, if anything.
std::optional<std::string> check_hello(const wire::Hello& hello, uint32_t lanes);

// The bytes of a Welcome; text is cut to wire::kMaxText.
std::string welcome_bytes(wire::Welcome welcome, std::string_view text);

}  // namespace fanin::reducer
