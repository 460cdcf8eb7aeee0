// The status port's HTTP: heads of requests, who may drain, and what fanin-ctl takes from an answer.
//
// Checked besides memory: a head is found in pieces as it is found whole, within its limit, and what was taken from it can be
// compared and logged; nobody drains but with a proof, by an admin secret, for a challenge of this door that has not run out;
// what goes to a terminal has no control characters.
#include <algorithm>
#include <array>

#include "ctl/report.h"
#include "ctl/snapshot.h"
#include "fanin/drain_proof.h"
#include "reducer/http/client.h"
#include "reducer/metrics/drain_door.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/kernel.h"

namespace fanin::reducer {
namespace {

using fuzz::check;
using fuzz::Input;
using http::Parsed;
namespace kernel = fuzz::kernel;

bool visible(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 32 && c < 127; });
}

void check_request(const http::Request& r) {
  check(!r.method.empty() && r.method.size() <= 16 && visible(r.method), "not a method");
  check(r.path.starts_with('/') && visible(r.path) && r.path.find('?') == std::string::npos, "not a path");
  check(r.path.size() + r.authorization.size() < http::kMaxHead, "more than a head");
  check(r.authorization.find('\n') == std::string::npos, "a field of more than a line");
}

// As a server does that reads whatever comes: the first verdict is the verdict.
void head(Input in) {
  const size_t pace = 1 + in.u8();
  std::string bytes;
  if (const uint8_t fill = in.u8(); fill >= 224) {  // around the limit
    bytes = "GET / HTTP/1.1\r\nx: ";
    bytes.append(http::kMaxHead - 64 + fill % 32, 'y');
  }
  bytes += in.rest();
  http::Request whole, pieces;
  const Parsed verdict = http::parse_request(bytes, whole);
  Parsed so_far = Parsed::kMore;
  for (size_t n = 0; so_far == Parsed::kMore && n < bytes.size();) {
    n = std::min(n + pace, bytes.size());
    so_far = http::parse_request(std::string_view(bytes).substr(0, n), pieces);
  }
  check(so_far == verdict || bytes.empty(), "a head in pieces is another one");
  check(verdict != Parsed::kMore || bytes.size() < http::kMaxHead, "waits for more than it would take");
  if (verdict != Parsed::kRequest) return;
  check(whole.method == pieces.method && whole.path == pieces.path &&
            whole.authorization == pieces.authorization,
        "a head in pieces says something else");
  check_request(whole);
}

const Secret& secret(uint32_t which) {
  static const std::array<Secret, 3> all = {*Secret::make("0123456789abcdef"),
                                            *Secret::make("the-other-admins-one"),
                                            *Secret::make("nobody-here-has-this")};
  return all[which % all.size()];
}

// Two doors give challenges, time goes on, and whoever comes puts a request together from what was said.
void drain(Input in) {
  using std::chrono::milliseconds;
  int drained = 0;
  auto count = [&](const std::string&) { ++drained; };
  metrics::DrainDoor door = *metrics::DrainDoor::make({{"ops", secret(0)}, {"me", secret(1)}}, count);
  metrics::DrainDoor elsewhere = *metrics::DrainDoor::make({{"ops", secret(0)}}, [](const std::string&) {});
  Deadline::Clock::time_point now{std::chrono::hours(24)};
  struct Challenge {
    std::string text;
    Deadline::Clock::time_point until;
    bool ours;
  };
  std::vector<Challenge> challenges;
  for (int steps = 0; !in.done() && steps < 100; ++steps) {
    switch (in.below(4)) {
      case 0: {
        const bool ours = in.u8() % 4 != 0;
        http::Response r = (ours ? door : elsewhere).answer({"GET", "/drain", ""}, now);
        check(r.status == 200 && r.body.ends_with('\n'), "no challenge");
        r.body.pop_back();
        challenges.push_back({r.body, now + metrics::DrainDoor::kChallengeLives, ours});
        break;
      }
      case 1:
        now += milliseconds(in.number() % 40000);
        break;
      default: {
        const Challenge nothing{"1.00", now, false};
        const Challenge& c = challenges.empty() ? nothing : challenges[in.u8() % challenges.size()];
        const uint32_t who = in.below(3);
        const std::string right = "fanin " + c.text + " " + drain_proof(secret(who), c.text);
        std::string said = right;
        for (uint32_t n = in.below(3); n > 0; --n) {
          const size_t at = in.u8() % said.size();
          const uint8_t how = in.u8();
          if (how < 64)
            said[at] ^= static_cast<char>(1 + how);
          else if (how < 128)
            said.insert(at, in.text(how - 64));
          else if (how < 192)
            said.erase(at, how - 128);
          else
            said = in.text(how);
          if (said.empty()) break;
        }
        const std::string bytes = "POST /drain HTTP/1.1\r\nHost: x\r\nAuthorization: " + said + "\r\n\r\n";
        http::Request r;
        if (http::parse_request(bytes, r) != Parsed::kRequest) break;
        check_request(r);
        const int before = drained;
        const int status = door.answer(r, now).status;
        check(status == 202 || status == 401 || status == 403, "another answer");
        check((status == 202) == (drained == before + 1), "told that it drains, or not, wrongly");
        const bool may = c.ours && who < 2 && now <= c.until;
        check(status != 202 || (may && r.authorization == right), "drained by somebody who may not");
        check(status == 202 || !may || r.authorization != right, "somebody who may drain does not");
        break;
      }
    }
  }
}

// What a reducer, or whatever is at its address, answers fanin-ctl.
void answer(Input in) {
  std::string bytes;
  const size_t pace = 1 + in.u8() * 16u;
  if (in.u8() % 2) bytes = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n";
  bytes += in.rest();
  kernel::capture(true);
  size_t said = 0;
  kernel::on_wait([&] {
    kernel::deliver(kernel::newest(), std::string_view(bytes).substr(said, pace));
    said = std::min(said + pace, bytes.size());
    if (said == bytes.size()) kernel::end(kernel::newest());
  });
  Result<http::Answer> a = http::ask(tcp::Address::loopback(4000), "GET", "/sessions", Deadline::never());
  kernel::capture(false);
  auto for_terminal = [](const std::string& text) {
    check(std::none_of(text.begin(), text.end(),
                       [](char c) { return (c >= 0 && c < ' ' && c != '\n') || c == 127; }),
          "a control character for the terminal");
  };
  if (!a) return for_terminal(a.error().text());
  check(a->head.size() + a->body.size() <= bytes.size(), "an answer longer than what was said");
  Result<ctl::Snapshot> s = ctl::parse_snapshot(a->body);
  if (!s) return for_terminal(s.error().text());
  for_terminal(ctl::status_text(*s, *s, "10.0.0.7:5000"));
  for_terminal(ctl::sessions_text(*s, *s));
}

}  // namespace
}  // namespace fanin::reducer

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fanin::fuzz::Input in(data, size);
  switch (in.below(4)) {
    case 0:
    case 1:
      fanin::reducer::head(in);
      break;
    case 2:
      fanin::reducer::drain(in);
      break;
    case 3:
      fanin::reducer::answer(in);
      break;
  }
  fanin::fuzz::kernel::reset();
  return 0;
}
