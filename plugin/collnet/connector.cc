#include "plugin/collnet/connector.h"

#include <poll.h>

#include <algorithm>
#include <list>

#include "fanin/checksum.h"
#include "plugin/collnet/lane_attempt.h"
#include "plugin/log.h"
#include "transport/tcp/socket.h"

namespace fanin::plugin::collnet {
namespace {

constexpr std::chrono::milliseconds kQuietFor{2000};  // then say what is waited for, and again every so often
constexpr std::chrono::milliseconds kRepeatEvery{10000};

// A member with its attempts: to ask it, and then one per lane.
struct Member {
  const PoolMember* member;
  std::list<LaneAttempt> attempts;
  uint32_t mbps = 0, node_mbps = 0;
  const LaneAttempt& asked() const { return attempts.front(); }
  bool all_done() const {
    return attempts.size() == 1 + asked().welcome().lanes &&
           std::all_of(attempts.begin(), attempts.end(),
                       [](auto& a) { return a.state() == LaneAttempt::State::kDone; });
  }
  const LaneAttempt* failed() const {
    for (auto& a : attempts)
      if (a.state() == LaneAttempt::State::kFailed) return &a;
    return nullptr;
  }
  bool over() const { return failed() || all_done(); }
};

void log_waiting(const std::list<Member>& members) {
  std::string names;
  size_t waiting = 0;
  for (const Member& m : members) {
    if (m.over()) continue;
    ++waiting;
    auto pending = std::find_if(m.attempts.begin(), m.attempts.end(), [](auto& a) { return !a.over(); });
    if (waiting <= 4) names += (names.empty() ? "" : ", ") + m.member->name + " (" + pending->why() + ")";
  }
  FANIN_INFO(NCCL_INIT | NCCL_NET, "waiting for %zu of %zu reducers: %s%s", waiting, members.size(),
             names.c_str(), waiting > 4 ? ", …" : "");
}

// Once: waits for descriptors and times, steps every attempt concerned.
void poll_once(std::list<Member>& members, Deadline until) {
  std::vector<pollfd> fds;
  std::vector<LaneAttempt*> who;
  for (Member& m : members) {
    if (m.over()) continue;
    for (LaneAttempt& a : m.attempts) {
      if (a.over()) continue;
      until = until.sooner(a.due());
      fds.push_back({a.fd(), a.events(), 0});  // a negative descriptor is skipped by poll
      who.push_back(&a);
    }
  }
  ::poll(fds.data(), fds.size(), until.poll_ms());
  for (size_t i = 0; i < fds.size(); ++i)
    if (fds[i].revents != 0 || who[i]->due().passed()) who[i]->step(fds[i].revents != 0);
}

// Two members that are one process, under two names. A reducer refuses the second hello of a rank for a lane.
Status check_duplicates(const std::list<Member>& members) {
  for (auto a = members.begin(); a != members.end(); ++a)
    for (auto b = std::next(a); b != members.end(); ++b) {
      const LaneAttempt &x = a->asked(), &y = b->asked();
      if (x.state() == LaneAttempt::State::kDone && y.state() == LaneAttempt::State::kDone &&
          x.welcome().reducer == y.welcome().reducer)
        return Error(Errc::kInvalidUsage, "the pool names one reducer twice: " + a->member->name + " and " +
                                              b->member->name + " are the same process; remove one");
    }
  return {};
}

std::vector<LaneConnection> take_lanes(Member& m) {
  std::vector<LaneConnection> lanes;
  for (auto a = std::next(m.attempts.begin()); a != m.attempts.end(); ++a)
    if (a->state() == LaneAttempt::State::kDone) lanes.push_back(a->take());
  return lanes;
}

void leave_done(Member& m) {
  std::vector<LaneConnection> joined = take_lanes(m);
  leave(joined);
}

// Where the lanes are, each address once.
std::string places(const Member& m) {
  std::string out;
  std::vector<tcp::Address> seen;
  for (auto a = std::next(m.attempts.begin()); a != m.attempts.end(); ++a) {
    const tcp::Address& at = a->target().to;
    if (std::find(seen.begin(), seen.end(), at) != seen.end()) continue;
    seen.push_back(at);
    out += (out.empty() ? "" : ", ") + at.text();
  }
  return out;
}

// What the answer to the question makes of a member: an attempt per lane.
void begin_lanes(Member& m, const JoinRequest& request, uint64_t window, Deadline deadline) {
  const LaneAttempt& asked = m.asked();
  const wire::Welcome& w = asked.welcome();
  const std::vector<tcp::Rail> told = told_by(asked.text(), asked.target().to);
  const auto targets_of = [&](const std::optional<Nic>& nic) {
    return LaneTargets(nic, asked.target(), asked.dead(), m.member->addresses, told, tcp::source_for);
  };
  const LaneTargets targets = targets_of(request.nic);
  m.mbps = targets.mbps();
  std::vector<std::vector<tcp::Rail>> used = {targets.used()};
  for (const Nic& other : request.other_nics) used.push_back(targets_of(other).used());
  m.node_mbps = carried_together(used);
  for (uint32_t l = 0; l < w.lanes; ++l)
    m.attempts.emplace_back(m.member->name, targets.of(l), request, l, window, deadline, w.reducer);
}

}  // namespace

Result<std::vector<Joined>> join_pool(const std::vector<PoolMember>& pool, const JoinRequest& request,
                                      Deadline deadline) {
  std::list<Member> members;
  const uint64_t per_reducer =
      std::clamp<uint64_t>(request.window / std::max<size_t>(pool.size(), 1), 1, wire::kMaxWindowBytes);
  for (const PoolMember& p : pool) {
    if (p.addresses.empty()) continue;
    Member& m = members.emplace_back();
    m.member = &p;
    m.attempts.emplace_back(p.name, targets_to(request.nic, p.addresses, tcp::source_for), request,
                            LaneAttempt::kAsk, 0, deadline);
  }
  Deadline speak = Deadline::after(kQuietFor);
  for (;;) {
    bool pending = false;
    for (Member& m : members) {
      if (m.asked().state() == LaneAttempt::State::kDone && m.attempts.size() == 1)
        begin_lanes(m, request, per_reducer, deadline);
      pending |= !m.over();
    }
    if (!pending) break;
    if (speak.passed()) {
      log_waiting(members);
      speak = Deadline::after(kRepeatEvery);
    }
    poll_once(members, speak);
  }
  if (Status s = check_duplicates(members); !s) {
    for (Member& m : members) leave_done(m);
    return s.error();
  }
  std::vector<Joined> out;
  auto next = members.begin();
  for (const PoolMember& p : pool) {
    Joined& j = out.emplace_back();
    j.name = p.name;
    if (p.addresses.empty()) {
      j.why = p.unknown;
      continue;
    }
    Member& m = *next++;
    if (const LaneAttempt* bad = m.failed()) {
      j.why = bad->why();
      leave_done(m);
      continue;
    }
    j.id = m.asked().welcome().reducer;
    j.mbps = m.mbps;
    j.node_mbps = m.node_mbps;
    j.at = places(m);
    j.lanes = take_lanes(m);
  }
  return out;
}

void leave(std::vector<LaneConnection>& lanes) {
  for (LaneConnection& c : lanes) {
    if (!c.stream) continue;
    wire::SliceHeader bye{};
    bye.type = wire::FrameType::kGoodbye;
    if (c.checksums) bye.reserved = header_sum(bye);
    const iovec iov{&bye, sizeof bye};
    c.stream->writev(&iov, 1);
  }
  lanes.clear();
}

}  // namespace fanin::plugin::collnet
