// Both ends of the handshake: what a stranger or worker says to a reducer, and what a worker is answered.
//
// Checked besides memory: the reducer never asks for more than a handshake, says what is wrong in a bounded sentence, lets in
// nobody who has not proved a secret for this very challenge, and its table gives back every seat and byte; a worker accepts
// no Welcome outside its ranges, and none from who has not proved its secret.
#include <poll.h>
#include <sys/types.h>

#include <cerrno>
#include <vector>

#include "fanin/figures.h"
#include "fanin/proof.h"
#include "plugin/collnet/lane_attempt.h"
#include "reducer/handshake.h"
#include "reducer/introduction.h"
#include "reducer/session_table.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/kernel.h"
#include "tests/fuzz/two_sides.h"

namespace fanin {
namespace {

using fuzz::check;
using fuzz::Input;
using fuzz::raw;
namespace kernel = fuzz::kernel;

wire::Hello some_hello(Input& in) {
  wire::Hello h{};
  h.preamble = {wire::kMagic, wire::kVersion, sizeof h};
  const uint8_t kind = in.u8();
  h.session.fill(kind % 3);
  if (kind < 128) {
    h.nranks = 1 + in.below(4);
    h.rank = in.below(h.nranks);
    h.lane = in.below(3);
    if (kind % 16 == 9) h.lane = wire::kFiguresLane;
    h.window_bytes = in.u16();
  } else {
    h.rank = static_cast<uint32_t>(in.number());
    h.nranks = static_cast<uint32_t>(in.number());
    h.lane = static_cast<uint32_t>(in.number());
    h.window_bytes = in.number();
  }
  if (kind % 8 == 7) reinterpret_cast<uint8_t*>(&h)[in.below(sizeof h)] ^= in.u8();
  return h;
}

const Secret& secret(uint32_t i) {
  static const Secret all[] = {*Secret::make("the-first-jobs-secret"),
                               *Secret::make("the-second-jobs-secret"),
                               *Secret::make("a-secret-no-reducer-has")};
  return all[i % 3];
}

// A connection on its way in, and what its peer knows.
struct Guest {
  reducer::Introduction intro;
  bool over = false, admitted = false;
  bool proved = false;  // the peer has sent the right proof for this very challenge
  std::optional<wire::Welcome> challenge;
};

class Door {
 public:
  explicit Door(Input in) : in_(in), table_({kLanes, 4096, uint64_t{4} << 20, 20}) {
    if (in_.u8() % 2) book_.replace({{"first", secret(0)}, {"second", secret(1)}});
  }

  void run() {
    for (int steps = 0; !in_.done() && steps < 200; ++steps) {
      step();
      check(table_.counts().connections == seats_.size(), "seats are miscounted");
    }
    while (!seats_.empty()) leave(0);
    check(table_.counts().connections == 0 && table_.counts().open == 0 && table_.counts().memory_used == 0,
          "something was not given back");
  }

 private:
  static constexpr uint32_t kLanes = 3;
  struct Seat {
    reducer::Session* session;
    uint32_t lane, rank;
  };

  void step() {
    const uint8_t kind = in_.u8();
    if (guests_.empty() || kind < 32) {
      if (guests_.size() < 32) guests_.emplace_back();
      return;
    }
    Guest& g = guests_[kind % 2 ? guests_.size() - 1 : in_.below(static_cast<uint32_t>(guests_.size()))];
    const size_t pace = in_.u8() % 4 ? 1000 : 1 + in_.below(100);
    if (kind < 64) {
      say(g, in_.text(in_.u8()), pace);
    } else if (kind < 144) {
      wire::Hello h = some_hello(in_);
      const uint8_t whose = in_.u8();
      if (whose % 4) h.key = secret(whose).id(), h.nonce[0] = whose;
      say(g, raw(h), pace);
    } else if (kind < 192) {
      wire::HelloProof p{};
      p.preamble = {wire::kMagic, wire::kVersion, sizeof p};
      const uint8_t how = in_.u8();
      // Of this connection, or replayed from another one.
      const Guest& from = how < 160 ? g : guests_[in_.below(static_cast<uint32_t>(guests_.size()))];
      const bool whole = from.challenge && !g.over;
      if (whole) p.proof = worker_proof(secret(how), from.intro.hello(), *from.challenge);
      if (how % 16 == 15) reinterpret_cast<uint8_t*>(&p)[in_.below(sizeof p)] ^= in_.u8();
      wire::HelloProof right = p;
      if (g.challenge)
        for (uint32_t i = 0; i < 2; ++i)
          if (g.intro.hello().key == secret(i).id())
            right.proof = worker_proof(secret(i), g.intro.hello(), *g.challenge);
      g.proved = g.challenge && g.intro.room().size() == sizeof p && raw(right) == raw(p);
      say(g, raw(p), pace);
    } else if (kind < 224 && !seats_.empty()) {
      leave(in_.below(static_cast<uint32_t>(seats_.size())));
    } else if (kind < 240 && !seats_.empty()) {
      const Seat& s = seats_[in_.below(static_cast<uint32_t>(seats_.size()))];
      table_.mark_broken(s.session, {wire::AbortCode::kRankLost, s.rank, "lost"});
      table_.past(s.session, s.lane);
    } else if (kind == 255) {
      table_.drain();
    }
  }

  void say(Guest& g, std::string_view bytes, size_t pace) {
    using Step = reducer::Introduction::Step;
    while (!bytes.empty() && !g.over) {
      std::span<std::byte> room = g.intro.room();
      check(!room.empty() && room.size() <= sizeof(wire::Hello), "more than a handshake is asked for");
      const size_t here = std::min({pace, bytes.size(), room.size()});
      memcpy(room.data(), bytes.data(), here);
      bytes.remove_prefix(here);
      switch (g.intro.took(here, kLanes, book_)) {
        case Step::kMore:
          break;
        case Step::kStranger:
          g.over = true;
          break;
        case Step::kChallenge:
          check(book_.required(), "a challenge without a secret");
          g.challenge.emplace();
          check(g.intro.challenge().size() == sizeof *g.challenge, "not a challenge");
          memcpy(&*g.challenge, g.intro.challenge().data(), sizeof *g.challenge);
          break;
        case Step::kRefuse:
          g.over = true;
          check(g.intro.refusal() != wire::Refusal::kNone && !g.intro.text().empty(),
                "refused without words");
          answer(g, g.intro.text());
          break;
        case Step::kAdmit:
          g.over = true;
          check(g.proved || !book_.required(), "a stranger was let in");
          check(!reducer::check_hello(g.intro.hello(), kLanes), "an impossible Hello was let in");
          if ((g.intro.hello().capabilities & wire::kAsk) != 0)
            answer(g, "10.0.0.7:4000 100000\n");
          else
            admit(g);
          break;
      }
    }
  }
  void admit(Guest& g) {
    const wire::Hello& h = g.intro.hello();
    if (h.lane == wire::kFiguresLane) return answer(g, {});  // for the council, not for the table
    reducer::Admission a = table_.admit(h, "10.0.0.7:4000");
    check(static_cast<bool>(a.session) == (a.refusal == wire::Refusal::kNone), "neither in nor out");
    check(a.session || !a.text.empty(), "refused without words");
    if (a.session) check(a.session->key == h.key, "a session of another secret was joined");
    if (a.session) seats_.push_back({a.session, h.lane, h.rank});
    answer(g, a.text);
  }
  static void answer(const Guest& g, std::string_view text) {
    check(g.intro.welcome({}, text).size() <= sizeof(wire::Welcome) + wire::kMaxText,
          "a Welcome without end");
  }
  void leave(size_t i) {
    table_.leave(seats_[i].session, seats_[i].lane, seats_[i].rank);
    seats_.erase(seats_.begin() + static_cast<ptrdiff_t>(i));
  }

  Input in_;
  reducer::SessionTable table_;
  reducer::SecretBook book_{{}};
  std::vector<Guest> guests_;
  std::vector<Seat> seats_;
};

class Caller {
 public:
  using LaneAttempt = plugin::collnet::LaneAttempt;
  explicit Caller(Input in) : in_(in) {
    request_.nranks = 2;
    if (in_.u8() % 2) request_.secret = secret(0);
  }

  void run() {
    const uint8_t choice = in_.u8();
    const uint32_t lane = choice >= 192 ? LaneAttempt::kAsk : choice % 2;
    const bool asks = lane == LaneAttempt::kAsk;
    const wire::Refusal expected = asks ? wire::Refusal::kAnswer : wire::Refusal::kNone;
    LaneAttempt attempt("pool:4000", {{tcp::Address::loopback(4000), std::nullopt}}, request_, lane,
                        in_.number(), Deadline::after(std::chrono::hours(1)));
    kernel::capture(true);
    attempt.step(false);  // connects
    fd_ = attempt.fd();
    check(fd_ >= 0, "no connection was begun");
    kernel::room(fd_, in_.u8() < 200 ? SIZE_MAX : in_.below(sizeof(wire::Hello)));
    for (int i = 0; i < 3 && attempt.events() == POLLOUT; ++i) {
      attempt.step(true);
      kernel::room(fd_, SIZE_MAX);
    }
    wire::Hello hello;
    check(attempt.events() == POLLIN && kernel::sent(fd_).size() == sizeof hello, "the Hello was not sent");
    memcpy(&hello, kernel::sent(fd_).data(), sizeof hello);

    wire::Welcome challenge{};
    bool honest = request_.secret && in_.u8() < 160;
    if (honest) {
      challenge.preamble = {wire::kMagic, wire::kVersion, sizeof challenge};
      challenge.refusal = wire::Refusal::kChallenge;
      challenge.nonce[0] = in_.u8();
      challenge.proof = reducer_proof(*request_.secret, hello, challenge);
      if (in_.u8() < 16) {
        reinterpret_cast<uint8_t*>(&challenge)[in_.below(sizeof challenge)] ^= in_.u8() | 1;
        honest = false;
      }
      answer(attempt, std::string(raw(challenge)));
      if (honest)
        check(kernel::sent(fd_).size() == sizeof hello + sizeof(wire::HelloProof),
              "a true challenge is not answered");
      else
        check(kernel::sent(fd_).size() == sizeof hello, "a false challenge is answered");
    }
    std::string bytes;
    if (in_.u8() < 64) {
      bytes = in_.text(in_.u16());
      honest = false;
    } else {
      wire::Welcome w{};
      const uint8_t kind = in_.u8();
      w.preamble = {wire::kMagic, wire::kVersion, sizeof w};
      w.refusal = kind < 192 ? expected : static_cast<wire::Refusal>(in_.u8());
      w.lanes = kind < 128 ? 1 + in_.u8() : static_cast<uint32_t>(in_.number());
      w.block_bytes = kind < 128 ? 4096u << in_.below(11) : static_cast<uint32_t>(in_.number());
      w.window_blocks = kind < 128 ? 1 + in_.u16() : static_cast<uint32_t>(in_.number());
      const std::string text(in_.text(in_.u8()));
      w.text_bytes = kind % 4 ? static_cast<uint32_t>(text.size()) : static_cast<uint32_t>(in_.number());
      if (kind % 16 == 7) reinterpret_cast<uint8_t*>(&w)[in_.below(sizeof w)] ^= in_.u8();
      honest = honest && in_.u8() < 160;
      if (honest) w.proof = welcome_proof(*request_.secret, hello, challenge, w, text);
      bytes.assign(raw(w));
      bytes += text;
    }
    answer(attempt, bytes);
    if (!attempt.over() && attempt.fd() == fd_) {
      in_.u8() % 2 ? kernel::end(fd_) : kernel::fail(fd_, ECONNRESET);
      attempt.step(true);
      check(attempt.state() == LaneAttempt::State::kWaiting, "the end of the connection goes unnoticed");
    }
    check(attempt.why().size() < 4096, "a reason without end");
    if (attempt.state() == LaneAttempt::State::kDone) {
      const wire::Welcome& w = attempt.welcome();
      check(w.refusal == expected && w.lanes >= 1 && w.lanes <= wire::kMaxLanes &&
                (asks || w.window_blocks >= 1) && w.block_bytes >= wire::kMinBlockBytes &&
                w.block_bytes <= wire::kMaxBlockBytes && w.block_bytes % 64 == 0 &&
                (asks || w.capabilities == hello.capabilities),
            "an impossible Welcome was accepted");
      check(honest || !request_.secret, "a false reducer was accepted");
      for (const tcp::Rail& r : tcp::parse_rails(attempt.text()))
        check(r.address.port() != 0, "an address that cannot be one");
      if (!asks) attempt.take();
    }
    kernel::capture(false);
  }

 private:
  void answer(LaneAttempt& attempt, const std::string& bytes) {
    const size_t pace = 1 + in_.u16();
    for (size_t at = 0; at < bytes.size() && !attempt.over() && attempt.fd() == fd_; at += pace) {
      kernel::deliver(fd_, std::string_view(bytes).substr(at, pace));
      attempt.step(true);
    }
  }

  Input in_;
  int fd_ = -1;
  plugin::collnet::JoinRequest request_;
};

}  // namespace
}  // namespace fanin

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return fanin::fuzz::run_one_side<fanin::Caller, fanin::Door>(data, size);
}
