#include "plugin/collnet/rendezvous.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <list>
#include <thread>
#include <vector>

#include "plugin/collnet/frame_socket.h"
#include "plugin/log.h"
#include "transport/epoll.h"
#include "transport/tcp/socket.h"

namespace fanin::plugin::collnet {
namespace {

constexpr std::chrono::milliseconds kRepeatEvery{10000};
// Then a new connection: the kernel repeats a lost SYN after 1, 3 and 7 s only.
constexpr std::chrono::milliseconds kAttemptPatience{2000};

Verdict none(const Report& own, std::string reason) {
  Verdict v;
  v.strict = own.strict;
  v.reason = std::move(reason);
  return v;
}

// Rank 0's side: one connection per other rank, found by rank once it has reported. Work is in proportion to what arrives,
// not to the number of ranks: thousands of them report in the same moment.
class Root {
 public:
  Root(int listener, const Report& own, std::span<const tcp::Address> ranks, Epoll epoll,
       const std::optional<SessionKey>& key)
      : listener_(listener),
        own_(own),
        addresses_(ranks),
        key_(key),
        epoll_(std::move(epoll)),
        reports_(own.nranks),
        ranks_(own.nranks),
        versions_(own.nranks) {
    reports_[0] = own;
  }

  Verdict run(const Deadlines& d) {
    if (std::string why = collect(d.collect, d.quiet); !why.empty()) return tell_none(why, d.ack);
    Verdict v = decide(reports_);
    if (!v.use) return tell_none(std::move(v), d.ack);
    const std::string body = encode_verdict(v);
    for (uint32_t r = 1; r < own_.nranks; ++r)
      if (Status s = ranks_[r]->socket->send(RendezvousType::kPropose, body, d.ack); !s)
        return lost(r, s.error(), d.ack);
    if (std::string why = collect_acks(d.ack); !why.empty())
      return tell_none(why, Deadline::after(kLastWords));
    // From here on the verdict stands, also for a rank that cannot be told any more: others are told already. It
    // fails, its lanes close, and so the session ends with an error on every rank.
    for (uint32_t r = 1; r < own_.nranks; ++r)
      if (Status s = ranks_[r]->socket->send(RendezvousType::kCommit, {}, Deadline::after(kLastWords)); !s)
        FANIN_WARN("%s was lost while the ranks agreed on reducers: %s", rank_text(r).c_str(),
                   s.error().text().c_str());
    return v;
  }

 private:
  static constexpr std::chrono::milliseconds kLastWords{500};
  static constexpr int kAcceptsPerTurn = 64;
  static constexpr const char* kHost = "rank 0's host";

  struct Peer {
    std::optional<FrameSocket> socket;  // empty: dropped
    uint32_t rank = 0;                  // 0: has not reported
    uint32_t introduced = 0;            // with a secret: the rank it has proved to be
    wire::Nonce nonce{};                // with a secret: said in the greeting
    std::list<Peer>::iterator self;
  };

  // Until every rank has reported. Empty, or why there can be no reducers.
  std::string collect(Deadline deadline, std::chrono::milliseconds quiet) {
    if (Status s = epoll_.add(listener_, EPOLLIN, nullptr); !s)
      return "rank 0 cannot wait: " + s.error().text();
    missing_ = own_.nranks - 1;
    Deadline speak = Deadline::after(quiet);
    std::array<epoll_event, 64> events;
    while (missing_ > 0) {
      if (deadline.passed()) return missing_text() + " did not report to rank 0 in time" + version_text();
      if (speak.passed()) {
        FANIN_INFO(NCCL_INIT | NCCL_NET, "waiting for %u of %u ranks: %s%s", missing_, own_.nranks,
                   missing_text().c_str(), version_text().c_str());
        speak = Deadline::after(kRepeatEvery);
      }
      for (const epoll_event& e : epoll_.wait(events, deadline.sooner(speak).poll_ms())) {
        if (auto* peer = static_cast<Peer*>(e.data.ptr)) {
          hear(*peer);
        } else if (Status s = accept_some(); !s) {
          return "rank 0 cannot accept: " + s.error().text();
        }
      }
      dropped_.clear();
    }
    epoll_.remove(listener_);
    unknown_.clear();
    return gave_up_;
  }

  Status accept_some() {
    for (int i = 0; i < kAcceptsPerTurn; ++i) {
      Result<Fd> fd = tcp::accept_from(listener_);
      if (!fd) {
        if (unknown_.empty()) return fd.error();
        drop(unknown_.front(), unknown_);  // a rank has spoken by now
        continue;
      }
      if (!*fd) break;
      // Strangers cannot pile up: the oldest silent one makes room.
      if (unknown_.size() > 2 * own_.nranks + 64) drop(unknown_.front(), unknown_);
      Peer& peer = unknown_.emplace_back();
      peer.self = std::prev(unknown_.end());
      peer.socket.emplace(std::move(*fd));
      if (key_ && !greet(peer)) {
        drop(peer, unknown_);
        continue;
      }
      if (Status s = epoll_.add(peer.socket->fd(), EPOLLIN | EPOLLRDHUP, &peer); !s) return s;
    }
    return {};
  }

  bool greet(Peer& peer) {
    Result<wire::Nonce> nonce = fresh_nonce();
    if (!nonce) return false;
    peer.nonce = *nonce;
    peer.socket->limit(sizeof(Introduction));
    const std::string body(reinterpret_cast<const char*>(nonce->data()), nonce->size());
    return static_cast<bool>(
        peer.socket->send(RendezvousType::kGreeting, body, Deadline::after(std::chrono::milliseconds(0))));
  }

  // From here on it may say a whole report.
  bool introduce(const FrameSocket::Frame& f, Peer& peer) {
    Introduction i;
    if (f.type != RendezvousType::kIntroduction || f.body.size() != sizeof i) return false;
    memcpy(&i, f.body.data(), sizeof i);
    if (!of_this_session(i.session, i.rank, i.nranks)) return false;
    FrameSeal seal(*key_, peer.nonce, i.rank, FrameSeal::Side::kRoot);
    if (!seal.fits(static_cast<uint16_t>(f.type), i.proved(), i.proof)) {
      if (!warned_)
        FANIN_WARN("somebody who does not know the job's secret says that it is rank %u (%s)", i.rank,
                   peer_text(peer).c_str());
      warned_ = true;  // once is enough
      return false;
    }
    peer.introduced = i.rank;
    peer.socket->seal(std::move(seal));
    peer.socket->limit(kMaxBody);
    return true;
  }

  void hear(Peer& peer) {
    if (!peer.socket) return;
    if (peer.rank != 0) {
      // A rank says nothing between report and proposal: this is its end. It decides the verdict, but the others are
      // still to be told.
      if (gave_up_.empty()) gave_up_ = rank_text(peer.rank) + " gave up";
      ranks_[peer.rank] = nullptr;
      return drop(peer, known_);
    }
    Result<std::optional<FrameSocket::Frame>> f = peer.socket->poll_frame();
    if (key_ && peer.introduced == 0 && f && *f) {
      if (!introduce(**f, peer)) return drop(peer, unknown_);
      f = peer.socket->poll_frame();
    }
    if (f && !*f) {
      if (!key_ && !promising(peer.socket->arriving())) drop(peer, unknown_);
      return;
    }
    if (!f && peer.socket->other_version()) meet_other_version(peer);
    if (!f || !admit(**f, peer)) drop(peer, unknown_);
  }

  // It may be a rank, or anybody who says so. It ends nothing: ranks at its address that do not report are told of with it.
  void meet_other_version(Peer& peer) {
    const uint16_t version = *peer.socket->other_version();
    Result<tcp::Address> at = tcp::remote_address(peer.socket->fd());
    if (!at) return;
    for (uint32_t r = 1; r < own_.nranks; ++r)
      if (!reported(r) && addresses_[r].bytes() == at->bytes()) versions_[r] = version;
    if (key_) return;  // the greeting has told it
    const Verdict v = none(own_, version_differs(version, at->host(), at->host(), kHost));
    (void)!peer.socket->send(RendezvousType::kNone, encode_verdict(v),
                             Deadline::after(std::chrono::milliseconds(0)));
  }

  bool of_this_session(const wire::SessionId& session, uint32_t rank, uint32_t nranks) const {
    return session == own_.session && nranks == own_.nranks && rank > 0 && rank < nranks && !reported(rank);
  }
  // Whether this can become a report of this session. Who does not know its id gets no further than that.
  bool promising(std::string_view body) const {
    wire::SessionId session;
    if (body.size() < sizeof session) return true;
    memcpy(session.data(), body.data(), sizeof session);
    return session == own_.session;
  }

  // Only forgotten at the end of the turn: events may still name it.
  void drop(Peer& peer, std::list<Peer>& from) {
    peer.socket.reset();
    dropped_.splice(dropped_.end(), from, peer.self);
  }

  // A report of this session from a rank that has not reported yet; takes its connection.
  bool admit(const FrameSocket::Frame& f, Peer& peer) {
    if (f.type != RendezvousType::kReport) return false;
    std::optional<Report> r = decode_report(f.body);
    if (!r || !of_this_session(r->session, r->rank, r->nranks)) return false;
    if (key_ && r->rank != peer.introduced) return false;
    peer.rank = r->rank;
    ranks_[peer.rank] = &peer;
    reports_[peer.rank] = std::move(*r);
    known_.splice(known_.end(), unknown_, peer.self);
    --missing_;
    return true;
  }
  // Also of a rank that reported and went away: nranks is set in every report.
  bool reported(uint32_t rank) const { return reports_[rank].nranks != 0; }

  std::string collect_acks(Deadline deadline) {
    std::array<epoll_event, 64> events;
    std::vector<bool> confirmed(own_.nranks);
    confirmed[0] = true;
    for (uint32_t left = own_.nranks - 1; left > 0;) {
      for (const epoll_event& e : epoll_.wait(events, deadline.poll_ms())) {
        Peer& peer = *static_cast<Peer*>(e.data.ptr);
        Result<std::optional<FrameSocket::Frame>> f = peer.socket->poll_frame();
        if (!f) return rank_text(peer.rank) + " did not confirm: " + f.error().text();
        if (!*f) continue;
        if ((*f)->type != RendezvousType::kAck)
          return rank_text(peer.rank) + " did not confirm: it broke the protocol";
        epoll_.remove(peer.socket->fd());
        confirmed[peer.rank] = true;
        --left;
      }
      if (left > 0 && deadline.passed())
        return ranks_text([&](uint32_t r) { return !confirmed[r]; }) +
               " did not confirm the choice of reducers in time";
    }
    return {};
  }

  Verdict tell_none(const std::string& why, Deadline deadline) {
    Verdict v = none(own_, why);
    for (const Report& r : reports_) v.strict |= r.strict;
    return tell_none(std::move(v), deadline);
  }
  Verdict tell_none(Verdict v, Deadline deadline) {
    v.use = false;
    v.reducers.clear();
    const std::string body = encode_verdict(v);
    // Best effort: whoever does not hear it falls back by itself, or fails if it has confirmed already.
    for (Peer* p : ranks_)
      if (p) (void)!p->socket->send(RendezvousType::kNone, body, deadline);
    return v;
  }
  Verdict lost(uint32_t r, const Error& e, Deadline deadline) {
    return tell_none(rank_text(r) + " was lost: " + e.text(), deadline);
  }

  static std::string peer_text(const Peer& peer) {
    Result<tcp::Address> a = tcp::remote_address(peer.socket->fd());
    return a ? a->text() : "gone";
  }

  // "(10.0.0.7)" of a rank that is only known by its handle, "(node7, 10.0.0.7)" of one that has reported.
  std::string place_text(uint32_t rank) const {
    return " (" + (reported(rank) ? reports_[rank].host + ", " : "") + addresses_[rank].host() + ")";
  }
  std::string rank_text(uint32_t rank) const { return "rank " + std::to_string(rank) + place_text(rank); }
  // Those of the ranks that pred names: at least one. A few by name, so that it fits a line whatever the job's size.
  template <class Pred>
  std::string ranks_text(Pred pred) const {
    constexpr size_t kNamed = 4;
    size_t n = 0;
    std::string text;
    for (uint32_t r = 0; r < own_.nranks; ++r)
      if (pred(r) && n++ < kNamed) text += (n > 1 ? ", " : "") + std::to_string(r) + place_text(r);
    if (n > kNamed) text += " and " + std::to_string(n - kNamed) + " more";
    return (n == 1 ? "rank " : "ranks ") + text;
  }
  std::string missing_text() const {
    return ranks_text([this](uint32_t r) { return !reported(r); });
  }

  // "; 10.0.0.7 runs another version …" of missing ranks that seem to be of one, or nothing.
  std::string version_text() const {
    std::string text;
    uint32_t more = 0;
    for (uint32_t r = 1; r < own_.nranks; ++r) {
      if (reported(r) || !versions_[r]) continue;
      const std::string at = addresses_[r].host();
      if (text.empty())
        text = "; " + version_differs(*versions_[r], at, at, kHost);
      else
        ++more;
    }
    return more == 0 ? text : text + " (likewise " + std::to_string(more) + " more)";
  }

  const int listener_;
  const Report& own_;
  const std::span<const tcp::Address> addresses_;  // where the ranks listen
  const std::optional<SessionKey>& key_;
  Epoll epoll_;
  std::vector<Report> reports_;
  std::vector<Peer*> ranks_;                       // reported and still there
  std::vector<std::optional<uint16_t>> versions_;  // heard from addresses of ranks that have not reported
  std::list<Peer> unknown_, known_, dropped_;
  uint32_t missing_ = 0;
  std::string gave_up_;
  bool warned_ = false;  // of somebody without the secret
};

Result<Fd> reach_root(const tcp::Address& root, const std::optional<tcp::Address>& source,
                      Deadline deadline) {
  std::string why = "no answer";
  auto pause = std::chrono::milliseconds(20);
  while (!deadline.passed()) {
    Result<Fd> fd = tcp::start_connect(root, source);
    if (fd) {
      pollfd p{fd->get(), POLLOUT, 0};
      if (::poll(&p, 1, deadline.sooner(Deadline::after(kAttemptPatience)).poll_ms()) > 0) {
        const tcp::ConnectOutcome o = tcp::finish_connect(fd->get());
        if (o.err == 0) return fd;
        why = system_error("connect", o.err).text();
        if (!o.retry) break;
      }
    } else {
      why = fd.error().text();
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(250));
  }
  return Error(Errc::kRemote, why);
}

// Says who this is under the nonce rank 0 greets with; everything after that is sealed.
Status introduce(FrameSocket& socket, const Report& own, const SessionKey& key, Deadline deadline) {
  socket.limit(sizeof(wire::Nonce));
  Result<FrameSocket::Frame> f = socket.receive(deadline);
  if (!f) {
    // So that rank 0 can tell of it, too.
    if (socket.other_version()) (void)!socket.send(RendezvousType::kIntroduction, {}, deadline);
    return f.error();
  }
  wire::Nonce nonce;
  if (f->type != RendezvousType::kGreeting || f->body.size() != sizeof nonce)
    return Error(Errc::kRemote, "it broke the protocol");
  memcpy(nonce.data(), f->body.data(), sizeof nonce);
  FrameSeal seal(key, nonce, own.rank, FrameSeal::Side::kRank);
  Introduction i{own.session, own.rank, own.nranks, {}};
  i.proof = seal.next(static_cast<uint16_t>(RendezvousType::kIntroduction), i.proved());
  if (Status s = socket.send(RendezvousType::kIntroduction,
                             std::string(reinterpret_cast<const char*>(&i), sizeof i), deadline);
      !s)
    return s;
  socket.seal(std::move(seal));
  socket.limit(kMaxBody);
  return {};
}

}  // namespace

Verdict lead_rendezvous(int listener, const Report& own, std::span<const tcp::Address> ranks,
                        const Deadlines& deadlines, const std::optional<SessionKey>& key) {
  Result<Epoll> epoll = Epoll::make();
  if (!epoll) return none(own, "rank 0 cannot wait for the others: " + epoll.error().text());
  return Root(listener, own, ranks, std::move(*epoll), key).run(deadlines);
}

Result<Verdict> follow_rendezvous(const tcp::Address& root, const std::optional<tcp::Address>& source,
                                  const Report& own, const Deadlines& d,
                                  const std::optional<SessionKey>& key) {
  const std::string where = "rank 0 at " + root.text();
  Result<Fd> fd = reach_root(root, source, d.patience);
  if (!fd) return none(own, "cannot reach " + where + ": " + fd.error().text());
  FrameSocket socket(std::move(*fd));
  if (key)
    if (Status s = introduce(socket, own, *key, d.patience); !s)
      return none(own, "cannot report to " + where + ": " + s.error().text());
  if (Status s = socket.send(RendezvousType::kReport, encode_report(own), d.patience); !s) {
    // Rank 0 may have closed because of our version, in the middle of it, and has said so.
    const Result<std::optional<FrameSocket::Frame>> said = socket.poll_frame();
    return none(
        own, "cannot report to " + where + ": " + (socket.other_version() ? said.error() : s.error()).text());
  }
  Result<FrameSocket::Frame> f = socket.receive(d.patience);
  if (!f) return none(own, "no verdict from " + where + ": " + f.error().text());
  std::optional<Verdict> v = decode_verdict(f->body);
  if (!v || (f->type != RendezvousType::kPropose && f->type != RendezvousType::kNone) ||
      v->use != (f->type == RendezvousType::kPropose))
    return none(own, where + " broke the protocol");
  if (!v->use) return *v;

  // The point of no return: from the first byte of the ACK on this rank does not decide alone any more.
  auto in_doubt = [&](const Error& e) {
    return Error(Errc::kRemote, "lost " + where + " while the ranks agreed on reducers: " + e.text());
  };
  const Deadline last = Deadline::after(d.after_ack);
  if (Status s = socket.send(RendezvousType::kAck, {}, last); !s) return in_doubt(s.error());
  f = socket.receive(last);
  if (!f) return in_doubt(f.error());
  if (f->type == RendezvousType::kCommit) return *v;
  if (f->type == RendezvousType::kNone)
    if (std::optional<Verdict> final = decode_verdict(f->body); final && !final->use) return *final;
  return in_doubt(Error(Errc::kRemote, "it broke the protocol"));
}

}  // namespace fanin::plugin::collnet
