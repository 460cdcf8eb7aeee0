#include "plugin/collnet/rendezvous.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <list>
#include <thread>
#include <vector>

#include "plugin/collnet/frame_socket.h"
#include "plugin/log.h"
#include "transport/tcp/socket.h"

namespace fanin::plugin::collnet {
namespace {

constexpr std::chrono::milliseconds kQuietFor{2000};
constexpr std::chrono::milliseconds kRepeatEvery{10000};

Verdict none(const Report& own, std::string reason) {
  Verdict v;
  v.strict = own.strict;
  v.reason = std::move(reason);
  return v;
}

std::string rank_text(uint32_t rank) { return "rank " + std::to_string(rank); }

// Rank 0's side: one connection per other rank, in a table by rank once it has reported.
class Root {
 public:
  Root(int listener, const Report& own)
      : listener_(listener), own_(own), reports_(own.nranks), reported_(own.nranks), ranks_(own.nranks) {
    reports_[0] = own;
  }

  Verdict run(const Deadlines& d) {
    if (std::string why = collect(d.collect); !why.empty()) return tell_none(why, d.ack);
    Verdict v = decide(reports_);
    if (!v.use) return tell_none(std::move(v), d.ack);
    const std::string body = encode_verdict(v);
    for (uint32_t r = 1; r < own_.nranks; ++r)
      if (Status s = ranks_[r]->send(RendezvousType::kPropose, body, d.ack); !s)
        return lost(r, s.error(), d.ack);
    if (std::string why = collect_acks(d.ack); !why.empty())
      return tell_none(why, Deadline::after(kLastWords));
    // From here on the verdict stands, also for a rank that cannot be told any more: others are told already. It
    // fails, its lanes close, and so the session ends with an error on every rank.
    for (uint32_t r = 1; r < own_.nranks; ++r)
      if (Status s = ranks_[r]->send(RendezvousType::kCommit, {}, Deadline::after(kLastWords)); !s)
        FANIN_WARN("%s (%s) was lost while the ranks agreed on reducers: %s", rank_text(r).c_str(),
                   reports_[r].host.c_str(), s.error().text().c_str());
    return v;
  }

 private:
  static constexpr std::chrono::milliseconds kLastWords{500};

  // Until every rank has reported. Empty, or why there can be no reducers.
  std::string collect(Deadline deadline) {
    uint32_t missing = own_.nranks - 1;
    std::string gave_up;
    Deadline speak = Deadline::after(kQuietFor);
    while (missing > 0) {
      if (deadline.passed()) return missing_text(missing) + " did not report to rank 0 in time";
      if (speak.passed()) {
        FANIN_INFO(NCCL_INIT | NCCL_NET, "waiting for %s of %u ranks", missing_text(missing).c_str(),
                   own_.nranks);
        speak = Deadline::after(kRepeatEvery);
      }
      std::vector<pollfd> fds{{listener_, POLLIN, 0}};
      for (FrameSocket& s : unknown_) fds.push_back({s.fd(), POLLIN, 0});
      for (auto& s : ranks_)
        if (s) fds.push_back({s->fd(), POLLRDHUP, 0});
      ::poll(fds.data(), fds.size(), deadline.sooner(speak).poll_ms());

      if (fds[0].revents != 0) {
        Result<Fd> fd = tcp::accept_from(listener_);
        if (!fd) return "rank 0 cannot accept: " + fd.error().text();
        // Strangers cannot pile up: the oldest silent one makes room.
        if (unknown_.size() > 2 * own_.nranks + 64) unknown_.pop_front();
        if (*fd) unknown_.emplace_back(std::move(*fd));
      }
      for (auto it = unknown_.begin(); it != unknown_.end();) {
        Result<std::optional<FrameSocket::Frame>> f = it->poll_frame();
        if (f && !*f) {
          ++it;
          continue;
        }
        if (f && admit(**f, *it)) --missing;
        it = unknown_.erase(it);
      }
      // A rank that gave up decides the verdict, but the others are still to be told.
      for (uint32_t r = 1; r < own_.nranks; ++r)
        if (ranks_[r] && gone(*ranks_[r])) {
          if (gave_up.empty()) gave_up = rank_text(r) + " (" + reports_[r].host + ") gave up";
          ranks_[r].reset();
        }
    }
    return gave_up;
  }

  // A report of this session from a rank that has not reported yet; takes its connection.
  bool admit(const FrameSocket::Frame& f, FrameSocket& socket) {
    if (f.type != RendezvousType::kReport) return false;
    std::optional<Report> r = decode_report(f.body);
    if (!r || r->session != own_.session || r->nranks != own_.nranks || r->rank == 0 ||
        r->rank >= own_.nranks || reported_[r->rank])
      return false;
    reported_[r->rank] = true;
    ranks_[r->rank].emplace(std::move(socket));
    reports_[r->rank] = std::move(*r);
    return true;
  }

  // A rank says nothing between report and proposal: anything readable is its end.
  static bool gone(FrameSocket& s) {
    pollfd p{s.fd(), POLLIN | POLLRDHUP, 0};
    return ::poll(&p, 1, 0) > 0;
  }

  std::string collect_acks(Deadline deadline) {
    std::vector<bool> acked(own_.nranks);
    for (uint32_t left = own_.nranks - 1; left > 0;) {
      std::vector<pollfd> fds;
      for (uint32_t r = 1; r < own_.nranks; ++r)
        if (!acked[r]) fds.push_back({ranks_[r]->fd(), POLLIN, 0});
      ::poll(fds.data(), fds.size(), deadline.poll_ms());
      for (uint32_t r = 1; r < own_.nranks; ++r) {
        if (acked[r]) continue;
        Result<std::optional<FrameSocket::Frame>> f = ranks_[r]->poll_frame();
        const std::string name = rank_text(r) + " (" + reports_[r].host + ")";
        if (!f) return name + " did not confirm: " + f.error().text();
        if (!*f) continue;
        if ((*f)->type != RendezvousType::kAck) return name + " did not confirm: it broke the protocol";
        acked[r] = true;
        --left;
      }
      if (left > 0 && deadline.passed()) return "not every rank confirmed the choice of reducers in time";
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
    for (auto& s : ranks_)
      if (s) (void)!s->send(RendezvousType::kNone, body, deadline);
    return v;
  }
  Verdict lost(uint32_t r, const Error& e, Deadline deadline) {
    return tell_none(rank_text(r) + " (" + reports_[r].host + ") was lost: " + e.text(), deadline);
  }

  std::string missing_text(uint32_t missing) const {
    std::string s = missing == 1 ? "rank" : "ranks";
    uint32_t said = 0;
    for (uint32_t r = 1; r < own_.nranks && said < 8; ++r)
      if (!reported_[r]) s += (said++ ? ", " : " ") + std::to_string(r);
    return missing > said ? s + ", …" : s;
  }

  const int listener_;
  const Report& own_;
  std::vector<Report> reports_;
  std::vector<bool> reported_;
  std::vector<std::optional<FrameSocket>> ranks_;  // reported and still there
  std::list<FrameSocket> unknown_;
};

Result<Fd> reach_root(const tcp::Address& root, const std::optional<tcp::Address>& source,
                      Deadline deadline) {
  std::string why = "no answer";
  auto pause = std::chrono::milliseconds(20);
  while (!deadline.passed()) {
    Result<Fd> fd = tcp::start_connect(root, source);
    if (fd) {
      pollfd p{fd->get(), POLLOUT, 0};
      if (::poll(&p, 1, deadline.poll_ms()) > 0) {
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

}  // namespace

Verdict lead_rendezvous(int listener, const Report& own, const Deadlines& deadlines) {
  return Root(listener, own).run(deadlines);
}

Result<Verdict> follow_rendezvous(const tcp::Address& root, const std::optional<tcp::Address>& source,
                                  const Report& own, const Deadlines& d) {
  const std::string where = "rank 0 at " + root.text();
  Result<Fd> fd = reach_root(root, source, d.patience);
  if (!fd) return none(own, "cannot reach " + where + ": " + fd.error().text());
  FrameSocket socket(std::move(*fd));
  if (Status s = socket.send(RendezvousType::kReport, encode_report(own), d.patience); !s)
    return none(own, "cannot report to " + where + ": " + s.error().text());
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
