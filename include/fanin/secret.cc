#include "fanin/secret.h"

#include <sodium.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>

namespace fanin {
namespace {

constexpr std::string_view kDerive = "fanin job secret";
constexpr std::string_view kName = "fanin key id    ";

// libsodium asks for it; choosing the fastest hash for this CPU is all it does for us.
void start_sodium() {
  static const int rc = sodium_init();
  (void)rc;
}

const unsigned char* bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

Result<Secret> Secret::make(std::string_view text) {
  auto bad = [](std::string why) { return Error(Errc::kInvalidUsage, std::move(why)); };
  if (text.size() < kLeast || text.size() > kMost)
    return bad("a secret has " + std::to_string(kLeast) + " to " + std::to_string(kMost) +
               " characters, not " + std::to_string(text.size()) + "; make one with: openssl rand -hex 32");
  if (!std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 127 && c != ':'; }))
    return bad(
        "a secret is of printable ASCII without spaces and colons; make one with: openssl rand -hex 32");
  start_sodium();
  Secret s;
  crypto_generichash_state state;
  crypto_generichash_init(&state, nullptr, 0, s.key_.size());
  crypto_generichash_update(&state, bytes(kDerive), kDerive.size());
  crypto_generichash_update(&state, bytes(text), text.size());
  crypto_generichash_final(&state, s.key_.data(), s.key_.size());
  sodium_memzero(&state, sizeof state);
  const wire::Proof id = s.prove(kName, {});
  std::copy_n(id.begin(), s.id_.size(), s.id_.begin());
  return s;
}

Secret::~Secret() { sodium_memzero(key_.data(), key_.size()); }

wire::Proof Secret::prove(std::string_view purpose,
                          std::initializer_list<std::span<const std::byte>> parts) const {
  wire::Proof out;
  crypto_generichash_state state;
  crypto_generichash_init(&state, key_.data(), key_.size(), out.size());
  crypto_generichash_update(&state, bytes(purpose), purpose.size());
  for (auto part : parts)
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(part.data()), part.size());
  crypto_generichash_final(&state, out.data(), out.size());
  sodium_memzero(&state, sizeof state);
  return out;
}

bool equal(const wire::Proof& a, const wire::Proof& b) {
  return sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

Result<wire::Nonce> fresh_nonce() {
  wire::Nonce n;
  if (getrandom(n.data(), n.size(), 0) != static_cast<ssize_t>(n.size()))
    return system_error("getrandom", errno);
  return n;
}

}  // namespace fanin
