// Both ends of the handshake: what a stranger or worker says to a reducer, and what a worker is answered.
//
// Checked besides memory: the reducer never asks for more than a Hello, says what is wrong in a bounded sentence, and its
// table gives back every seat and byte; a worker accepts no Welcome outside its ranges.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "plugin/collnet/lane_attempt.h"
#include "reducer/handshake.h"
#include "reducer/session_table.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/kernel.h"

namespace fanin {
namespace {

using fuzz::Input;
using fuzz::raw;
namespace kernel = fuzz::kernel;

void check(bool ok, const char* what) {
  if (ok) return;
  fprintf(stderr, "handshake: %s\n", what);
  abort();
}

wire::Hello some_hello(Input& in) {
  wire::Hello h{};
  h.preamble = {wire::kMagic, wire::kVersion, sizeof h};
  const uint8_t kind = in.u8();
  h.session.fill(kind % 3);
  if (kind < 128) {
    h.nranks = 1 + in.below(4);
    h.rank = in.below(h.nranks);
    h.lane = in.below(3);
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

// The bytes a newcomer sends, looked at as they come; the complete Hello, if it is one.
std::optional<wire::Hello> hear(std::string_view bytes, size_t pace) {
  using reducer::HelloState;
  alignas(wire::Hello) std::byte hello[sizeof(wire::Hello)];
  size_t have = 0;
  while (have < bytes.size() && have < sizeof hello) {
    const size_t here = std::min({pace, bytes.size() - have, sizeof hello - have});
    memcpy(hello + have, bytes.data() + have, here);
    have += here;
    switch (reducer::hello_state(hello, have)) {
      case HelloState::kMore:
        check(have < sizeof hello, "more than a Hello is asked for");
        break;
      case HelloState::kStranger:
        return std::nullopt;
      case HelloState::kVersion: {
        wire::Preamble p;
        memcpy(&p, hello, sizeof p);
        check(reducer::version_text(p.version).find("upgrade") != std::string::npos,
              "no word on what to upgrade");
        return std::nullopt;
      }
      case HelloState::kComplete: {
        check(have == sizeof hello, "complete too early");
        wire::Hello h;
        memcpy(&h, hello, sizeof h);
        return h;
      }
    }
  }
  return std::nullopt;
}

void reducers_side(Input in) {
  constexpr uint32_t kLanes = 3;
  reducer::SessionTable table({kLanes, 4096, uint64_t{4} << 20, 20});
  struct Seat {
    reducer::Session* session;
    uint32_t lane, rank;
  };
  std::vector<Seat> seats;
  for (int steps = 0; !in.done() && steps < 200; ++steps) {
    const uint8_t kind = in.u8();
    if (kind < 32) {
      hear(in.text(in.u8()), 1 + in.below(64));
    } else if (kind < 176) {
      const wire::Hello said = some_hello(in);
      std::optional<wire::Hello> h = hear(raw(said), 1 + in.below(64));
      if (!h) continue;
      std::optional<std::string> wrong = reducer::check_hello(*h, kLanes);
      std::string text = wrong ? *wrong : std::string();
      if (!wrong) {
        reducer::Admission a = table.admit(*h, "10.0.0.7:4000");
        check(static_cast<bool>(a.session) == (a.refusal == wire::Refusal::kNone), "neither in nor out");
        if (a.session) seats.push_back({a.session, h->lane, h->rank});
        text = a.text;
        check(a.session || !text.empty(), "refused without words");
      }
      const std::string answer = reducer::welcome_bytes({}, text);
      check(answer.size() <= sizeof(wire::Welcome) + wire::kMaxText, "a Welcome without end");
    } else if (kind < 224 && !seats.empty()) {
      const size_t i = in.below(static_cast<uint32_t>(seats.size()));
      table.leave(seats[i].session, seats[i].lane, seats[i].rank);
      seats.erase(seats.begin() + static_cast<ptrdiff_t>(i));
    } else if (kind < 240 && !seats.empty()) {
      const Seat& s = seats[in.below(static_cast<uint32_t>(seats.size()))];
      table.mark_broken(s.session, {wire::AbortCode::kRankLost, s.rank, "lost"});
      table.past(s.session, s.lane);
    } else if (kind == 255) {
      table.drain();
    }
    check(table.counts().connections == seats.size(), "seats are miscounted");
  }
  for (const Seat& s : seats) table.leave(s.session, s.lane, s.rank);
  check(table.counts().connections == 0 && table.counts().open == 0 && table.counts().memory_used == 0,
        "something was not given back");
}

void workers_side(Input in) {
  using plugin::collnet::LaneAttempt;
  plugin::collnet::JoinRequest request;
  request.nranks = 2;
  LaneAttempt attempt("pool:4000", {tcp::Address::loopback(4000)}, request, in.below(2), in.number(),
                      Deadline::after(std::chrono::hours(1)));
  kernel::capture(true);
  attempt.step(false);  // connects
  const int fd = attempt.fd();
  check(fd >= 0, "no connection was begun");
  kernel::room(fd, in.u8() < 200 ? SIZE_MAX : in.below(sizeof(wire::Hello)));
  for (int i = 0;
       i < 3 && !attempt.over() && attempt.fd() == fd && attempt.state() != LaneAttempt::State::kWelcome;
       ++i) {
    attempt.step(true);
    if (kernel::is_open(fd)) kernel::room(fd, SIZE_MAX);
  }
  check(attempt.state() == LaneAttempt::State::kWelcome, "the Hello was not sent");
  wire::Hello hello;
  check(kernel::sent(fd).size() == sizeof hello, "not a Hello");
  memcpy(&hello, kernel::sent(fd).data(), sizeof hello);
  std::string bytes;
  if (in.u8() < 64) {
    bytes = in.text(in.u16());
  } else {
    wire::Welcome w{};
    const uint8_t kind = in.u8();
    w.preamble = {wire::kMagic, wire::kVersion, sizeof w};
    w.refusal = static_cast<wire::Refusal>(kind < 192 ? 0 : in.u8());
    w.lanes = kind < 128 ? 1 + in.u8() : static_cast<uint32_t>(in.number());
    w.block_bytes = kind < 128 ? 4096u << in.below(11) : static_cast<uint32_t>(in.number());
    w.window_blocks = kind < 128 ? 1 + in.u16() : static_cast<uint32_t>(in.number());
    w.text_bytes = kind % 4 ? 0 : static_cast<uint32_t>(in.number());
    if (kind % 16 == 7) reinterpret_cast<uint8_t*>(&w)[in.below(sizeof w)] ^= in.u8();
    bytes.assign(raw(w));
    bytes += in.text(in.u16());
  }
  const size_t pace = 1 + in.u16();
  for (size_t at = 0; at < bytes.size() && !attempt.over() && attempt.fd() == fd; at += pace) {
    kernel::deliver(fd, std::string_view(bytes).substr(at, pace));
    attempt.step(true);
  }
  if (!attempt.over() && attempt.fd() == fd) {
    in.u8() % 2 ? kernel::end(fd) : kernel::fail(fd, ECONNRESET);
    attempt.step(true);
    check(attempt.state() == LaneAttempt::State::kWaiting, "the end of the connection goes unnoticed");
  }
  check(attempt.why().size() < 4096, "a reason without end");
  if (attempt.state() == LaneAttempt::State::kDone) {
    const wire::Welcome& w = attempt.welcome();
    check(w.refusal == wire::Refusal::kNone && w.lanes >= 1 && w.lanes <= wire::kMaxLanes &&
              w.window_blocks >= 1 && w.block_bytes >= wire::kMinBlockBytes &&
              w.block_bytes <= wire::kMaxBlockBytes && w.block_bytes % 64 == 0,
          "an impossible Welcome was accepted");
    attempt.take();
  }
  kernel::capture(false);
}

}  // namespace
}  // namespace fanin

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fanin::fuzz::Input in(data, size);
  in.u8() % 2 ? fanin::workers_side(in) : fanin::reducers_side(in);
  fanin::fuzz::kernel::reset();
  return 0;
}
