#include "reducer/introduction.h"

#include <cstring>

#include "fanin/proof.h"
#include "reducer/handshake.h"

namespace fanin::reducer {
namespace {

template <class T>
std::span<std::byte> bytes_of(T& t) {
  return std::as_writable_bytes(std::span(&t, 1));
}

}  // namespace

std::span<std::byte> Introduction::room() {
  return (hello_here_ ? bytes_of(proof_) : bytes_of(hello_)).subspan(have_);
}

Introduction::Step Introduction::took(size_t bytes, uint32_t lanes, const SecretBook& secrets) {
  have_ += bytes;
  if (hello_here_) {
    if (!proof_so_far(bytes_of(proof_).data(), have_)) return Step::kStranger;
    return have_ < sizeof proof_ ? Step::kMore : took_proof();
  }
  switch (hello_state(bytes_of(hello_).data(), have_)) {
    case HelloState::kMore:
      return Step::kMore;
    case HelloState::kStranger:
      return Step::kStranger;
    case HelloState::kVersion:
      return refuse(wire::Refusal::kVersion, version_text(hello_.preamble.version));
    case HelloState::kComplete:
      have_ = 0;
      hello_here_ = true;
      return took_hello(lanes, secrets);
  }
  return Step::kStranger;
}

Introduction::Step Introduction::took_hello(uint32_t lanes, const SecretBook& secrets) {
  const bool required = secrets.required(), has = hello_.key != wire::KeyId{};
  if (required && !has)
    return refuse(wire::Refusal::kAuth,
                  "this reducer takes only workers that prove a job's secret, and the worker has none; set "
                  "FANIN_SECRET_FILE in the job");
  if (!required && has)
    return refuse(
        wire::Refusal::kAuth,
        "the worker has a secret (FANIN_SECRET_FILE) and this reducer has none; start the reducer with "
        "--secret-file, or unset it in the job");
  if (required && !(secret_ = secrets.find(hello_.key)))
    return refuse(
        wire::Refusal::kAuth,
        "the worker's secret is not among this reducer's; compare FANIN_SECRET_FILE in the job with the "
        "reducer's --secret-file");
  if (auto text = check_hello(hello_, lanes)) return refuse(wire::Refusal::kMalformed, *text);
  if (!required) return Step::kAdmit;
  Result<wire::Nonce> nonce = fresh_nonce();
  if (!nonce) return refuse(wire::Refusal::kAuth, nonce.error().text());
  challenge_.preamble = {wire::kMagic, wire::kVersion, sizeof challenge_};
  challenge_.refusal = wire::Refusal::kChallenge;
  challenge_.nonce = *nonce;
  challenge_.proof = reducer_proof(secret_->secret, hello_, challenge_);
  return Step::kChallenge;
}

Introduction::Step Introduction::took_proof() {
  if (!equal(proof_.proof, worker_proof(secret_->secret, hello_, challenge_)))
    return refuse(wire::Refusal::kAuth, "the worker did not prove that it knows its secret");
  proved_ = true;
  return Step::kAdmit;
}

Introduction::Step Introduction::refuse(wire::Refusal why, std::string text) {
  refusal_ = why;
  text_ = std::move(text);
  return Step::kRefuse;
}

std::string Introduction::challenge() const {
  return std::string(reinterpret_cast<const char*>(&challenge_), sizeof challenge_);
}

std::string Introduction::welcome(wire::Welcome w, std::string_view text) const {
  std::string out = welcome_bytes(w, text);
  if (!proved_) return out;
  memcpy(&w, out.data(), sizeof w);
  w.proof = welcome_proof(secret_->secret, hello_, challenge_, w, std::string_view(out).substr(sizeof w));
  memcpy(out.data(), &w, sizeof w);
  return out;
}

}  // namespace fanin::reducer
