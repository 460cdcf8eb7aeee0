// One connection's handshake on the reducer's side, as a state machine on bytes: Hello, and where secrets are in use a
// challenge and its proof. Knows no sockets and no sessions; constant memory. One thread.
//
// The owner reads at most room() bytes at a time to where they go and reports them with took(), until that returns
// something else than kMore; then it does what is asked. Nothing a stranger sends makes it allocate or admit.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "fanin/wire.h"
#include "reducer/secret_book.h"

namespace fanin::reducer {

class Introduction {
 public:
  enum class Step {
    kMore,       // read on
    kStranger,   // not fanin's protocol: drop without a word
    kChallenge,  // send challenge(), then read on
    kRefuse,     // send welcome() with refusal() and text(), and close
    kAdmit,      // hello() is possible and its secret proved: look for a seat, then send welcome()
  };

  // Where to read the next bytes to: never more than this handshake takes.
  std::span<std::byte> room();
  Step took(size_t bytes, uint32_t lanes, const SecretBook& secrets);

  const wire::Hello& hello() const { return hello_; }  // from kChallenge on, and for some refusals
  bool has_hello() const { return hello_here_; }
  wire::Refusal refusal() const { return refusal_; }
  const std::string& text() const { return text_; }
  bool proved() const { return proved_; }
  // The name of the secret that was proved, or "".
  std::string secret_name() const { return proved_ ? secret_->name : std::string(); }
  std::string challenge() const;
  // The bytes of the last Welcome, proved where a secret was; text is cut to wire::kMaxText.
  std::string welcome(wire::Welcome welcome, std::string_view text) const;

 private:
  Step refuse(wire::Refusal why, std::string text);
  Step took_hello(uint32_t lanes, const SecretBook& secrets);
  Step took_proof();

  size_t have_ = 0;  // of hello_, then of proof_
  bool hello_here_ = false, proved_ = false;
  wire::Hello hello_{};
  wire::Welcome challenge_{};
  wire::HelloProof proof_{};
  std::optional<NamedSecret> secret_;
  wire::Refusal refusal_ = wire::Refusal::kNone;
  std::string text_;
};

}  // namespace fanin::reducer
