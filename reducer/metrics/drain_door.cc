#include "reducer/metrics/drain_door.h"

#include <charconv>

#include "fanin/drain_proof.h"

namespace fanin::reducer::metrics {
namespace {

int64_t milliseconds_of(Deadline::Clock::time_point t) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(t.time_since_epoch()).count();
}

// In constant time for texts of one length.
bool same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned differ = 0;
  for (size_t i = 0; i < a.size(); ++i) differ |= static_cast<unsigned char>(a[i] ^ b[i]);
  return differ == 0;
}

}  // namespace

Result<DrainDoor> DrainDoor::make(std::vector<NamedSecret> admins,
                                  std::function<void(const std::string&)> drain) {
  DrainDoor door;
  Result<wire::Nonce> nonce = fresh_nonce();
  if (!nonce) return nonce.error();
  Result<Secret> own = Secret::make(hex_of(*nonce));
  if (!own) return own.error();
  door.own_ = *std::move(own);
  door.admins_ = std::move(admins);
  door.drain_ = std::move(drain);
  return door;
}

// "MILLISECONDS.PROOF"
std::string DrainDoor::challenge(int64_t good_until) const {
  const std::string until = std::to_string(good_until);
  return until + "." +
         hex_of(own_->prove("fanin challenge ", {std::as_bytes(std::span(until.data(), until.size()))}));
}

http::Response DrainDoor::answer(const http::Request& request, Deadline::Clock::time_point now) {
  if (!own_)
    return {403,
            "this reducer has no --admin-secret-file: it is drained by SIGTERM (kill, systemctl stop, or "
            "deleting its "
            "pod)\n"};
  if (request.method == "GET") return {200, challenge(milliseconds_of(now + kChallengeLives)) + "\n"};
  std::string_view rest = request.authorization;
  if (!rest.starts_with("fanin ")) return {401, "a proof is needed: fanin-ctl drain --secret-file\n"};
  rest.remove_prefix(6);
  const std::string_view asked = rest.substr(0, rest.find(' '));
  const std::string_view proof =
      asked.size() < rest.size() ? rest.substr(asked.size() + 1) : std::string_view();
  int64_t until = 0;
  std::from_chars(asked.data(), asked.data() + asked.size(), until);
  if (!same(asked, challenge(until)) || until < milliseconds_of(now))
    return {403, "the challenge is not this reducer's, or has run out: ask for another one\n"};
  for (const NamedSecret& s : admins_)
    if (same(proof, drain_proof(s.secret, asked))) {
      drain_(s.name);
      return {202, "draining: no new sessions, the running ones finish\n"};
    }
  return {403, "the secret is none of this reducer's --admin-secret-file\n"};
}

}  // namespace fanin::reducer::metrics
