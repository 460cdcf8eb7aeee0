// A job's secret: what a worker and a reducer both know and prove to each other (fanin/proof.h), never sent or printed.
//
// A value; the key in it is wiped when it goes. Any thread.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "fanin/error.h"
#include "fanin/wire.h"

namespace fanin {

class Secret {
 public:
  static constexpr size_t kLeast = 16, kMost = 256;  // characters

  // From what a user wrote: printable ASCII without spaces and colons. Errors do not contain the text.
  static Result<Secret> make(std::string_view text);
  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;
  ~Secret();

  // The same for all who know the secret, and useless to those who do not.
  const wire::KeyId& id() const { return id_; }
  // A keyed hash (BLAKE2b) over a purpose, exactly 16 characters, and the parts one after the other.
  wire::Proof prove(std::string_view purpose, std::initializer_list<std::span<const std::byte>> parts) const;

 private:
  Secret() = default;
  std::array<uint8_t, 32> key_{};
  wire::KeyId id_{};
};

// In constant time.
bool equal(const wire::Proof& a, const wire::Proof& b);
// From the kernel.
Result<wire::Nonce> fresh_nonce();

}  // namespace fanin
