// How ranks come to one verdict, with and without a secret: the real rank 0 among honest ranks and strangers, and the real
// other rank opposite a rank 0 that may be none.
//
// The input is a script: honest ranks take their next step, whole or in pieces, give up, or something on the way changes
// their bytes; strangers send anything, replay what was heard and send back what they are told. At its end the honest do
// what is left. Checked besides memory: the verdict is what the honest ranks' reports make it, whatever strangers do; it is
// committed only with every rank's ACK, and then told to each; with a secret nothing changed or made up is believed; a
// rank that has confirmed never decides alone.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <vector>

#include "plugin/collnet/handle.h"
#include "plugin/collnet/rendezvous.h"
#include "plugin/collnet/rendezvous_wire.h"
#include "plugin/log.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/kernel.h"

namespace fanin::plugin::collnet {
namespace {

using fuzz::check;
using fuzz::Input;
using fuzz::raw;
namespace kernel = fuzz::kernel;
using Type = RendezvousType;

constexpr uint32_t kMostRanks = 4;
constexpr int kSteps = 300;

// What a job's ranks know.
struct Job {
  explicit Job(bool secret, uint32_t n) : nranks(n) {
    std::array<Handle, kMostRanks> handles{};
    std::array<void*, kMostRanks> all;
    for (uint32_t r = 0; r < kMostRanks; ++r) {
      handles[r].nonce[0] = static_cast<uint8_t>(1 + r);
      all[r] = &handles[r];
    }
    session = session_id(all.data(), static_cast<int>(n));
    static const Secret theirs = *Secret::make("what-the-ranks-share"),
                        other = *Secret::make("of-some-other-job");
    if (secret) key = session_key(theirs, all.data(), static_cast<int>(n));
    strangers = session_key(other, all.data(), static_cast<int>(n));
  }
  Report report(uint32_t rank, Input& in) const {
    Report r;
    r.session = session;
    r.rank = rank;
    r.nranks = nranks;
    r.configured = true;
    const uint8_t mask = in.u8();
    for (uint8_t i = 0; i < 4; ++i)
      if (mask < 192 || (mask >> i & 1) != 0)
        r.reached.push_back({{i}, "reducer-" + std::to_string(i), mask % 3u * 1000});
      else
        r.missed.push_back({"reducer-" + std::to_string(i), "no answer"});
    return r;
  }
  std::string introduction(const SessionKey& with, const wire::Nonce& nonce, uint32_t rank) const {
    FrameSeal seal(with, nonce, rank, FrameSeal::Side::kRank);
    Introduction i{session, rank, nranks, {}};
    i.proof = seal.next(static_cast<uint16_t>(Type::kIntroduction), i.proved());
    return encode(Type::kIntroduction, std::string(raw(i)));
  }
  uint32_t nranks;
  wire::SessionId session;
  std::optional<SessionKey> key;
  SessionKey strangers{*Secret::make("to-be-replaced-here"), {}};
};

// A frame as it is sent: sealed, where there is a seal.
std::string sealed(std::optional<FrameSeal>& seal, Type type, const std::string& body) {
  std::string bytes = encode(type, body);
  if (seal) bytes += raw(seal->next(static_cast<uint16_t>(type), body));
  return bytes;
}

// Takes the next whole frame of what was sent; null: there is none.
struct Told {
  RendezvousHeader header;
  std::string body;
};
std::optional<Told> next_frame(const std::string& sent, size_t& at, std::optional<FrameSeal>* seal) {
  Told t{};
  if (sent.size() - at < sizeof t.header) return std::nullopt;
  memcpy(&t.header, sent.data() + at, sizeof t.header);
  const size_t tail = seal && *seal ? sizeof(wire::Proof) : 0;
  check(t.header.magic == RendezvousHeader::kMagic && t.header.body_bytes <= kMaxBody, "not a frame");
  if (sent.size() - at < sizeof t.header + t.header.body_bytes + tail) return std::nullopt;
  t.body = sent.substr(at + sizeof t.header, t.header.body_bytes);
  at += sizeof t.header + t.body.size();
  if (tail) {
    wire::Proof proof;
    memcpy(proof.data(), sent.data() + at, sizeof proof);
    at += tail;
    check((*seal)->fits(static_cast<uint16_t>(t.header.type), t.body, proof), "a wrong seal of ours");
  }
  return t;
}

// What is logged is one line.
void log(int, unsigned long, const char*, int, const char* format, ...) {
  char line[2048];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  for (const char* c = line; *c; ++c)
    check(static_cast<unsigned char>(*c) >= ' ', "a control character for the log");
}

// ---- Rank 0 among the others.

class Crowd {
 public:
  explicit Crowd(Input in) : in_(in), first_(in_.u8()), job_(first_ % 2, 2 + first_ / 2 % 3) {
    for (uint32_t r = 0; r < job_.nranks; ++r) reports_.push_back(job_.report(r, in_));
    for (uint32_t r = 1; r < job_.nranks; ++r) ranks_.push_back({.rank = r});
  }

  void run() {
    const Fd listener(kernel::listener());
    kernel::on_wait([this] { step(); });
    const Deadline never = Deadline::never();
    const std::vector<tcp::Address> addresses(job_.nranks, tcp::Address::loopback(4000));
    const Verdict v = lead_rendezvous(listener.get(), reports_[0], addresses,
                                      {never, never, never, never, {}, std::chrono::hours(1)}, job_.key);
    in_ = Input(nullptr, 0);
    log(NCCL_LOG_INFO, 0, "", 0, "%s", v.reason.c_str());
    bool gave_up = false, committed = false;
    for (Rank& r : ranks_) {
      listen(r);
      gave_up |= r.wavered;
      committed |= r.told == Type::kCommit;
      check(!v.use || !job_.key || !r.touched, "believed what was changed");
      check(!v.use || spoiled() || r.acked, "committed without an ACK");
      check(!v.use || spoiled() || r.wavered || r.told == Type::kCommit, "a rank is not told");
    }
    check(v.use || !committed, "told to one rank, and not meant");
    if (spoiled()) return;
    const Verdict right = decide(reports_);
    check(v.use ? v.reducers == right.reducers : gave_up || changed_ || !right.use, "not the ranks' verdict");
  }

 private:
  struct Rank {
    uint32_t rank = 0;
    int fd = -1;
    std::optional<FrameSeal> seal{};
    size_t read = 0;        // of what rank 0 sent on this connection
    std::string to_send{};  // on its way
    bool reported = false, acked = false, gave_up = false;
    bool touched = false;  // its words on this connection were changed
    bool wavered = false,
         changed = false;  // also on an earlier connection: it went away; its words were changed
    Type told{};
  };

  void step() {
    if (in_.done() || ++steps_ > kSteps) {
      // In turns, so that nothing hangs on what is ready at once.
      check(++after_ < 50, "no verdict");
      if (after_ == 10) tire();
      for (Rank& r : ranks_) flush(r), act(r), flush(r);
      return;
    }
    for (int n = 1 + in_.u8() % 4; n > 0; --n) one();
  }

  void one() {
    switch (in_.below(12)) {
      case 0:
      case 1:
      case 2: {
        Rank& r = rank();
        flush(r), act(r), flush(r);
        break;
      }
      case 3: {
        Rank& r = rank();
        if (r.to_send.empty()) act(r);
        return send(r, in_.u8());
      }
      case 4: {
        Rank& r = rank();
        if (r.gave_up || r.fd < 0 || in_.u8() % 4 != 0) return;
        r.wavered = true;
        // Before rank 0 knows of it, it may come back.
        const bool reset = in_.u8() % 2;
        r.gave_up = r.told != Type{} || (!reset && r.reported && r.to_send.empty());
        return leave(r, reset);
      }
      case 5: {
        Rank& r = rank();
        if (r.to_send.empty()) act(r);
        if (r.to_send.empty() || in_.u8() % 4 != 0) return;
        r.to_send[in_.u16() % r.to_send.size()] ^= static_cast<char>(1 + in_.u8() % 255);
        r.touched = r.changed = changed_ = true;
        return flush(r);
      }
      case 6:
        if (strangers_.size() < 100) strangers_.push_back({kernel::arrive(), ""});
        return;
      case 7:
        return say(std::string(in_.text(in_.u8())));
      case 8:
        return say(frame());
      case 9: {
        if (heard_.empty()) return;
        std::string again = heard_[in_.u8() % heard_.size()];
        if (in_.u8() % 2) again[in_.u16() % again.size()] ^= static_cast<char>(1 + in_.u8() % 255);
        return say(again);
      }
      case 10: {
        if (strangers_.empty()) return;
        const std::string& told = kernel::sent(stranger().fd);
        const size_t from = in_.u8();
        return say(from < told.size() ? told.substr(from, in_.u8()) : told);
      }
      case 11: {
        if (strangers_.empty()) return;
        const int fd = stranger().fd;
        return in_.u8() % 2 ? kernel::end(fd) : kernel::fail(fd, ECONNRESET);
      }
    }
  }

  // What somebody makes up who knows how it is done, but not the secret.
  std::string frame() {
    const uint8_t kind = in_.u8();
    const uint32_t rank = in_.below(kMostRanks + 1);
    wire::Nonce nonce{};
    if (!strangers_.empty())
      if (const std::string& told = kernel::sent(stranger().fd);
          told.size() >= sizeof(RendezvousHeader) + sizeof nonce)
        memcpy(nonce.data(), told.data() + sizeof(RendezvousHeader), sizeof nonce);
    std::optional<FrameSeal> seal(FrameSeal(job_.strangers, nonce, rank, FrameSeal::Side::kRank));
    if (kind < 96) return job_.introduction(job_.strangers, nonce, rank);
    if (kind < 160) {
      std::optional<FrameSeal> none;
      return sealed(kind % 2 ? seal : none, Type::kReport, encode_report(job_.report(rank, in_)));
    }
    const std::string body(in_.text(kind % 2 ? in_.u8() : in_.u16()));
    return encode(static_cast<Type>(in_.below(9)), body);
  }

  // An honest rank's next step: its next bytes, if it has any to say.
  void act(Rank& r) {
    if (r.gave_up) return;
    if (r.fd < 0 || (!kernel::is_open(r.fd) && !r.acked)) {
      // Dropped among so many strangers, or for what was not its word.
      r = {.rank = r.rank, .fd = kernel::arrive(), .wavered = r.wavered, .changed = r.changed};
      return;
    }
    if (job_.key && !r.seal) {
      std::optional<Told> greeting = next_frame(kernel::sent(r.fd), r.read, nullptr);
      if (!greeting) return;
      wire::Nonce nonce;
      check(greeting->header.type == Type::kGreeting && greeting->body.size() == sizeof nonce, "no greeting");
      memcpy(nonce.data(), greeting->body.data(), sizeof nonce);
      r.to_send += job_.introduction(*job_.key, nonce, r.rank);
      r.seal.emplace(*job_.key, nonce, r.rank, FrameSeal::Side::kRank);
      // The introduction is the first frame under it.
      (void)r.seal->next(0, {});
      return;
    }
    if (!r.reported) {
      r.reported = true;
      r.to_send += sealed(r.seal, Type::kReport, encode_report(reports_[r.rank]));
      return;
    }
    listen(r);
    if (r.told == Type::kPropose && !r.acked) {
      r.acked = true;
      r.to_send += sealed(r.seal, Type::kAck, {});
    }
  }

  void leave(Rank& r, bool reset) {
    reset ? kernel::fail(r.fd, ECONNRESET) : kernel::end(r.fd);
    r.to_send.clear();
    if (!r.gave_up) r.fd = -1;
  }

  // What would last until a deadline: a rank waits for an answer to what was changed on its way, or a stranger has the seat of
  // one in a job without secret.
  void tire() {
    for (Rank& r : ranks_) {
      // Its report went to a connection that rank 0 had dropped for a stranger's.
      if (r.gave_up && r.told == Type{}) r.gave_up = false, r.fd = -1;
      if (r.fd < 0 || !r.changed) continue;
      r.gave_up = r.told != Type{};
      leave(r, false);
    }
    if (!job_.key)
      for (const Stranger& s : strangers_) kernel::end(s.fd);
  }

  void listen(Rank& r) {
    if (r.fd < 0 || (job_.key && !r.seal)) return;
    while (std::optional<Told> t = next_frame(kernel::sent(r.fd), r.read, &r.seal)) {
      const Type before = r.told;
      r.told = t->header.type;
      check(r.told == Type::kPropose  ? before == Type{} && r.reported
            : r.told == Type::kCommit ? before == Type::kPropose && (r.acked || spoiled())
                                      : r.told == Type::kNone && before != Type::kCommit,
            "rank 0 breaks the protocol");
      std::optional<Verdict> v = r.told == Type::kCommit ? Verdict{} : decode_verdict(t->body);
      check(v && (r.told == Type::kCommit || v->use == (r.told == Type::kPropose)), "not a verdict");
      check(r.told != Type::kPropose || spoiled() || v->reducers == decide(reports_).reducers,
            "another proposal");
    }
  }

  void flush(Rank& r) { send(r, r.to_send.size()); }
  void send(Rank& r, size_t most) {
    most = std::min(most, r.to_send.size());
    if (most == 0) return;
    const std::string now = r.to_send.substr(0, most);
    r.to_send.erase(0, most);
    heard_.push_back(now);
    kernel::deliver(r.fd, now);
  }

  struct Stranger {
    int fd;
    std::string said;
  };
  Rank& rank() { return ranks_[in_.u8() % ranks_.size()]; }
  Stranger& stranger() { return strangers_[in_.u8() % strangers_.size()]; }
  void say(const std::string& bytes) {
    if (strangers_.empty()) return;
    Stranger& s = stranger();
    s.said += bytes;
    kernel::deliver(s.fd, bytes);
  }
  // Who does not know a job without secret by its id is a stranger. Who does may be a rank.
  bool spoiled() const {
    return !job_.key && (changed_ || std::any_of(strangers_.begin(), strangers_.end(), [&](auto& s) {
                           return s.said.find(raw(job_.session)) != std::string::npos;
                         }));
  }

  Input in_;
  const uint8_t first_;
  const Job job_;
  std::vector<Report> reports_;
  std::vector<Rank> ranks_;
  std::vector<Stranger> strangers_;
  std::vector<std::string> heard_;
  int steps_ = 0, after_ = 0;
  bool changed_ = false;  // something on the way
};

// ---- Another rank opposite rank 0.

class Opposite {
 public:
  explicit Opposite(Input in) : in_(in), first_(in_.u8()), job_(first_ % 2, 2), own_(job_.report(1, in_)) {
    Report theirs = job_.report(0, in_);
    const std::array<Report, 2> both{theirs, own_};
    verdict_ = decide(both);
  }

  void run() {
    kernel::capture(true);
    kernel::on_wait([this] { step(); });
    const Deadline never = Deadline::never();
    const Result<Verdict> v =
        follow_rendezvous(tcp::Address::loopback(4000), std::nullopt, own_,
                          {never, never, never, never, std::chrono::hours(1), {}}, job_.key);
    kernel::capture(false);
    listen();
    log(NCCL_LOG_INFO, 0, "", 0, "%s", v ? v->reason.c_str() : v.error().text().c_str());
    if (!v) return check(acked_, "an error although it could fall back");
    const bool believed = job_.key || honest_;
    if (v->use) {
      check(acked_ && !(job_.key && lost_), "reducers by what was no proposal");
      check(!believed || (proposed_ && committed_ && v->reducers == verdict_.reducers),
            "believed a stranger");
    } else {
      check(!believed || !acked_ || refused_, "fell back after its ACK");
      check(!v->reason.empty() || !believed, "falls back without a reason");
    }
  }

 private:
  // Past its end rank 0 is gone.
  void step() {
    fd_ = kernel::newest();
    listen();
    if (in_.done() || ++steps_ > kSteps) return kernel::end(fd_);
    switch (in_.below(8)) {
      case 0:
      case 1:
      case 2:
        return deliver(next());
      case 3: {
        std::string bytes = next();
        if (bytes.empty()) return;
        bytes[in_.u16() % bytes.size()] ^= static_cast<char>(1 + in_.u8() % 255);
        honest_ = false;
        lost_ = true;
        return deliver(bytes);
      }
      case 4: {
        const std::string bytes = next();
        const size_t part = std::min<size_t>(in_.u8(), bytes.size());
        kernel::deliver(fd_, std::string_view(bytes).substr(0, part));
        said_ += bytes;
        return kernel::deliver(fd_, std::string_view(bytes).substr(part));
      }
      case 5: {
        honest_ = false;
        const uint8_t kind = in_.u8();
        if (kind < 64) return deliver(std::string(in_.text(in_.u8())));
        if (kind < 128) return deliver(said_.substr(std::min<size_t>(in_.u8(), said_.size()), in_.u8()));
        const Type type = static_cast<Type>(in_.below(9));
        std::optional<FrameSeal> seal;
        if (kind % 2) seal.emplace(job_.strangers, nonce_, 1, FrameSeal::Side::kRoot);
        return deliver(
            sealed(seal, type, kind < 192 ? encode_verdict(verdict_) : std::string(in_.text(in_.u8()))));
      }
      case 6:
        return in_.u8() % 8 ? void() : kernel::end(fd_);
      case 7:
        return in_.u8() % 8 ? void() : kernel::fail(fd_, ECONNRESET);
    }
  }

  // The honest rank 0's next frame, or nothing while it waits.
  std::string next() {
    if (job_.key && !greeted_) {
      greeted_ = true;
      nonce_[0] = 7;
      return encode(Type::kGreeting, std::string(raw(nonce_)));
    }
    if (!reported_) return {};
    const uint8_t how = in_.u8();
    if (!proposed_ && !refused_) {
      const bool use = verdict_.use && how < 224;
      (use ? proposed_ : refused_) = true;
      Verdict v = verdict_;
      if (!use) v = {};
      if (!use) v.reason = "rank 2 gave up";
      return sealed(seal_, use ? Type::kPropose : Type::kNone, encode_verdict(v));
    }
    if (refused_ || committed_ || !acked_) return {};
    if (how < 224) {
      committed_ = true;
      return sealed(seal_, Type::kCommit, {});
    }
    refused_ = true;
    Verdict v;
    v.reason = "rank 2 gave up";
    return sealed(seal_, Type::kNone, encode_verdict(v));
  }

  // What the rank said since.
  void listen() {
    if (fd_ < 0) return;
    const std::string& sent = kernel::sent(fd_);
    if (job_.key && !seal_) {
      std::optional<Told> t = next_frame(sent, read_, nullptr);
      if (!t) return;
      Introduction i;
      check(t->header.type == Type::kIntroduction, "no introduction");
      if (t->body.empty()) {
        check(!honest_, "a rank found another version where there was none");
        return;
      }
      check(t->body.size() == sizeof i, "no introduction");
      memcpy(&i, t->body.data(), sizeof i);
      check(i.session == job_.session && i.rank == 1 && i.nranks == 2, "introduced as another");
      seal_.emplace(*job_.key, nonce_, 1, FrameSeal::Side::kRoot);
      if (!seal_->fits(static_cast<uint16_t>(Type::kIntroduction), i.proved(), i.proof)) {
        check(!honest_, "a wrong proof");
        seal_.reset();
        read_ = sent.size();  // greeted by somebody else: what it says is for nobody here
        return;
      }
    }
    while (std::optional<Told> t = next_frame(sent, read_, &seal_)) {
      if (t->header.type == Type::kReport)
        reported_ = decode_report(t->body).has_value();
      else
        check(t->header.type == Type::kAck && reported_ && !acked_, "this rank breaks the protocol"),
            acked_ = true;
    }
  }

  void deliver(const std::string& bytes) {
    said_ += bytes;
    kernel::deliver(fd_, bytes);
  }

  Input in_;
  const uint8_t first_;
  const Job job_;
  const Report own_;
  Verdict verdict_;
  int fd_ = -1;
  wire::Nonce nonce_{};
  std::optional<FrameSeal> seal_;
  size_t read_ = 0;
  std::string said_;
  int steps_ = 0;
  bool lost_ = false;   // one of rank 0's frames was changed on its way
  bool honest_ = true;  // nothing but rank 0's own words so far
  bool greeted_ = false, reported_ = false, proposed_ = false, acked_ = false, committed_ = false,
       refused_ = false;
};

}  // namespace
}  // namespace fanin::plugin::collnet

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fanin::plugin::collnet;
  fanin::plugin::set_logger(&log);
  fanin::fuzz::Input in(data, size);
  in.u8() % 3 ? Crowd(in).run() : Opposite(in).run();
  fanin::fuzz::kernel::reset();
  return 0;
}
