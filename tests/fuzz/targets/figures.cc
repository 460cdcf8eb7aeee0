// How ranks come to the same figures of their pool: the reducer's council among ranks and strangers, and a rank opposite a
// reducer that may be none.
//
// Checked besides memory: the council stays within its limits, ends what it took once each, says nothing but whole answers,
// and "agreed" only where all ranks have asked, with figures that they had; a rank takes nothing impossible for an answer.
#include <bit>
#include <cerrno>
#include <cmath>
#include <set>
#include <vector>

#include "fanin/figures.h"
#include "plugin/tuner/agreement.h"
#include "reducer/council.h"
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
using reducer::GuestEnd;

float some_float(Input& in) {
  const uint8_t kind = in.u8();
  return kind < 224 ? static_cast<float>(1 + kind % 8) : std::bit_cast<float>(in.get<uint32_t>());
}
wire::PoolFigures some_figures(Input& in) {
  wire::PoolFigures f{};
  for (float* one : {&f.small_us, &f.chunk_us, &f.pool_rate, &f.link_rate}) *one = some_float(in);
  return f;
}
bool possible(const wire::PoolFigures& f) {
  for (const float one : {f.small_us, f.chunk_us, f.pool_rate, f.link_rate})
    if (!(one > 0) || std::isinf(one)) return false;
  return true;
}

class Crowd {
 public:
  explicit Crowd(Input in)
      : in_(in),
        questions_(1 + in_.below(8)),
        of_peer_(1 + in_.below(8)),
        council_(*Epoll::make(),
                 {in_.u8() % 4 ? std::chrono::hours(1) : std::chrono::hours(0), questions_, of_peer_},
                 [this](const tcp::Address& from, GuestEnd how, std::string_view what) {
                   Client& c = clients_.at(from.port());
                   check(!c.ended, "it has ended twice");
                   check(what.empty() == (how == GuestEnd::kAnswered), "no word why");
                   c.ended = how;
                 }) {}

  void run() {
    kernel::on_wait([] {});
    while (!in_.done() && clients_.size() < 200) {
      step();
      size_t open = 0;
      std::array<size_t, kHosts> of_host{};
      for (const Client& c : clients_) {
        check(kernel::is_open(c.fd) != c.ended.has_value(),
              "an end without a word, or a word without an end");
        open += !c.ended;
        of_host[c.host] += !c.ended;
      }
      check(open == council_.size() && open <= questions_, "more questions than the limit");
      for (const size_t n : of_host) check(n <= of_peer_, "more questions of one peer than its limit");
    }
    council_.turn();
    for (size_t i = 0; i < clients_.size(); ++i) judge(clients_[i]);
  }

 private:
  static constexpr uint32_t kHosts = 4;
  struct Client {
    int fd;
    uint32_t host;
    uint8_t session, key;
    uint32_t nranks;
    bool whole = true;  // its socket takes all it is told
    std::string said;
    std::optional<GuestEnd> ended;
    auto name() const { return std::tuple(session, key, nranks); }
    // What it asks, if it does.
    std::optional<wire::FiguresAsk> ask() const {
      wire::FiguresAsk a;
      if (said.size() < sizeof a) return {};
      memcpy(&a, said.data(), sizeof a);
      const wire::Preamble p{wire::kMagic, wire::kVersion, sizeof a};
      if (memcmp(&a.preamble, &p, sizeof p) != 0 || a.measured > 1 || (a.measured && !possible(a.figures)))
        return {};
      return a;
    }
  };

  void step() {
    const uint8_t kind = in_.u8();
    if (clients_.empty() || kind < 64) return arrive();
    if (kind < 80) return council_.make_room("is in the way");
    if (kind < 128) return council_.turn();
    Client& c = clients_[kind % 2 ? clients_.size() - 1 : in_.u8() % clients_.size()];
    if (kind < 216) {
      wire::FiguresAsk a{};
      a.preamble = {wire::kMagic, wire::kVersion, sizeof a};
      a.measured = in_.below(2);
      if (a.measured) a.figures = some_figures(in_);
      const uint8_t how = in_.u8();
      if (how >= 240) reinterpret_cast<uint8_t*>(&a)[in_.below(sizeof a)] ^= in_.u8();
      const size_t part = how % 4 ? sizeof a : in_.below(sizeof a);
      say(c, raw(a).substr(0, part));
      if (how % 8 == 0) council_.turn();
      if (how % 4 == 0) say(c, raw(a).substr(part));
    } else if (kind < 232) {
      say(c, in_.text(in_.u8()));
    } else if (kind < 244) {
      kernel::end(c.fd);
    } else {
      kernel::fail(c.fd, ECONNRESET);
      c.whole = false;
    }
  }

  void arrive() {
    Client c{};
    const uint8_t kind = in_.u8();
    c.fd = kernel::socket();
    c.host = kind % kHosts;
    c.session = static_cast<uint8_t>(kind / 4 % 2);
    c.key = static_cast<uint8_t>(kind / 8 % 2);
    c.nranks = kind < 224 ? 1 + kind / 16 % 3 : 4096;
    if (kind % 32 == 31) kernel::room(c.fd, in_.below(sizeof(wire::FiguresAnswer))), c.whole = false;
    const tcp::Address from =
        *tcp::Address::numeric("10.0.0." + std::to_string(c.host), static_cast<uint16_t>(clients_.size()));
    clients_.push_back(c);
    wire::Hello h{};
    h.session[0] = c.session;
    h.key[0] = c.key;
    h.nranks = c.nranks;
    council_.take(Fd(c.fd), from, h);
  }

  void say(Client& c, std::string_view bytes) {
    c.said.append(bytes);
    kernel::deliver(c.fd, bytes);
  }

  void judge(const Client& c) {
    const std::string& told = kernel::sent(c.fd);
    wire::FiguresAnswer a;
    check(told.size() <= sizeof a && (told.empty() || !c.whole || told.size() == sizeof a), "half an answer");
    if (!c.ended) return check(told.empty(), "told something and kept");
    const bool answered =
        c.ended == GuestEnd::kAnswered || c.ended == GuestEnd::kCrowdedOut || c.ended == GuestEnd::kSilent;
    if (c.whole) check(!answered || told.size() == sizeof a, "not answered");
    if (told.size() < sizeof a) return;
    memcpy(&a, told.data(), sizeof a);
    const wire::Preamble p{wire::kMagic, wire::kVersion, sizeof a};
    check(memcmp(&a.preamble, &p, sizeof p) == 0 && a.agreed <= 1, "not an answer");
    if (a.agreed == 0) return check(a.measured == 0 && !possible(a.figures), "figures of no agreement");
    check(c.ended == GuestEnd::kAnswered && a.measured <= c.nranks, "agreed with more than there are");
    check((a.measured == 0) != possible(a.figures), "agreed on impossible figures");
    uint32_t asked = 0, measured = 0;
    std::set<float> small, link;
    for (const Client& other : clients_) {
      const auto question = other.name() == c.name() ? other.ask() : std::nullopt;
      if (!question || other.ended != GuestEnd::kAnswered) continue;
      ++asked;
      if (!question->measured) continue;
      ++measured;
      small.insert(question->figures.small_us);
      link.insert(question->figures.link_rate);
    }
    check(asked >= c.nranks && measured >= a.measured, "agreed before all ranks had asked");
    if (a.measured)
      check(small.count(a.figures.small_us) && link.count(a.figures.link_rate), "figures that nobody had");
  }

  Input in_;
  std::vector<Client> clients_;
  const size_t questions_, of_peer_;
  reducer::Council council_;
};

// A rank, let in by what may not be a reducer.
class Asker {
 public:
  explicit Asker(Input in) : in_(in) {
    question_.shape.nodes = 2 + in_.below(4);
    question_.shape.ranks = question_.shape.nodes * (1 + in_.below(3));
    if (in_.u8() % 2) question_.measured = wire::PoolFigures{10, 20, 30, 40};
    options_.pool.spec = "10.0.0.7:4000";
  }

  void run() {
    kernel::capture(true);
    kernel::on_wait([this] { step(); });
    const Result<plugin::tuner::Agreed> a = plugin::tuner::agree(options_, question_);
    kernel::capture(false);
    const std::string& sent = kernel::sent(fd_);
    check(welcomed_ && sent.size() <= sizeof(wire::Hello) + sizeof(wire::FiguresAsk), "said something else");
    wire::FiguresAnswer w{};
    const bool whole = said_.size() >= sizeof w;
    if (whole) memcpy(&w, said_.data(), sizeof w);
    const wire::Preamble p{wire::kMagic, wire::kVersion, sizeof w};
    const bool good = whole && memcmp(&w.preamble, &p, sizeof p) == 0 && w.agreed <= 1 &&
                      w.measured <= (w.agreed ? question_.shape.ranks : 0) &&
                      (w.measured == 0 || possible(w.figures));
    if (!a) return check((!good || reset_) && a.error().text().size() < 4096, "a good answer was not taken");
    check(good, "an impossible answer was taken");
    check(a->all == (w.agreed == 1) && a->figures.has_value() == (w.measured > 0), "another answer");
    check(a->all || !a->why.empty(), "no word why");
    if (!a->figures) return;
    const plugin::tuner::Figures& f = *a->figures;
    check(f.small_us == w.figures.small_us && f.chunk_us == w.figures.chunk_us &&
              f.pool_rate == w.figures.pool_rate && f.link_rate == w.figures.link_rate,
          "other figures");
    check(f.rails >= 1 && f.rails <= question_.shape.ranks, "more rails than ranks");
    plugin::tuner::crossover(question_.shape, f);
  }

 private:
  // Past its end the reducer is gone.
  void step() {
    if (fd_ < 0) fd_ = kernel::newest();  // connecting; more are made for a moment to look at interfaces
    if (!welcomed_) {
      if (kernel::sent(fd_).size() < sizeof(wire::Hello)) return;
      wire::Welcome w{};
      w.preamble = {wire::kMagic, wire::kVersion, sizeof w};
      w.lanes = w.window_blocks = 1;
      w.block_bytes = 4096;
      welcomed_ = true;
      if (in_.u8() % 4 == 0) kernel::room(fd_, in_.below(sizeof(wire::FiguresAsk)));
      return kernel::deliver(fd_, raw(w));
    }
    if (in_.done()) {
      kernel::room(fd_, SIZE_MAX);
      return kernel::end(fd_);
    }
    const uint8_t kind = in_.u8();
    if (kind < 160) {
      wire::FiguresAnswer a{};
      a.preamble = {wire::kMagic, wire::kVersion, sizeof a};
      a.agreed = kind < 128 ? in_.below(2) : static_cast<uint32_t>(in_.number());
      a.measured = kind < 96 ? in_.below(4) : static_cast<uint32_t>(in_.number());
      if (a.measured || kind % 2) a.figures = some_figures(in_);
      if (kind % 16 == 7) reinterpret_cast<uint8_t*>(&a)[in_.below(sizeof a)] ^= in_.u8();
      const size_t part = kind % 4 ? sizeof a : in_.below(sizeof a);
      say(raw(a).substr(0, part));
    } else if (kind < 208) {
      say(in_.text(in_.u8()));
    } else if (kind < 224) {
      kernel::room(fd_, in_.below(sizeof(wire::FiguresAsk)));
    } else if (kind < 240) {
      kernel::end(fd_);
    } else {
      kernel::fail(fd_, ECONNRESET);
      reset_ = true;
    }
  }
  void say(std::string_view bytes) {
    said_.append(bytes);
    kernel::deliver(fd_, bytes);
  }

  Input in_;
  plugin::Options options_;
  plugin::tuner::Question question_{77, {2, 2}, 5, {}};
  int fd_ = -1;
  bool welcomed_ = false, reset_ = false;
  std::string said_;
};

}  // namespace
}  // namespace fanin

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return fanin::fuzz::run_one_side<fanin::Asker, fanin::Crowd>(data, size);
}
