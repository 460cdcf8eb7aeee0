#include "plugin/collnet/connector.h"

#include <poll.h>

#include <algorithm>
#include <list>

#include "fanin/checksum.h"
#include "plugin/collnet/lane_attempt.h"
#include "plugin/log.h"

namespace fanin::plugin::collnet {
namespace {

constexpr std::chrono::milliseconds kQuietFor{2000};  // then say what is waited for, and again every so often
constexpr std::chrono::milliseconds kRepeatEvery{10000};

// A member with its attempts, one per lane once lane 0 has told their number.
struct Member {
  std::string name;
  std::list<LaneAttempt> attempts;
  bool all_done() const {
    return attempts.size() == attempts.front().welcome().lanes &&
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
    if (waiting <= 4) names += (names.empty() ? "" : ", ") + m.name + " (" + pending->why() + ")";
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
      const LaneAttempt &x = a->attempts.front(), &y = b->attempts.front();
      const bool known = (x.state() == LaneAttempt::State::kDone || x.refused_as_duplicate()) &&
                         (y.state() == LaneAttempt::State::kDone || y.refused_as_duplicate());
      if (known && x.welcome().reducer == y.welcome().reducer && x.welcome().reducer != wire::ReducerId{})
        return Error(Errc::kInvalidUsage, "the pool names one reducer twice: " + a->name + " and " + b->name +
                                              " are the same process; remove one");
    }
  return {};
}

void leave_done(Member& m) {
  std::vector<LaneConnection> joined;
  for (LaneAttempt& a : m.attempts)
    if (a.state() == LaneAttempt::State::kDone) joined.push_back(a.take());
  leave(joined);
}

}  // namespace

Result<std::vector<Joined>> join_pool(const std::vector<PoolMember>& pool, const JoinRequest& request,
                                      Deadline deadline) {
  std::list<Member> members;
  const uint64_t per_reducer = std::max<uint64_t>(request.window / std::max<size_t>(pool.size(), 1), 1);
  for (const PoolMember& p : pool) {
    if (p.addresses.empty()) continue;
    Member& m = members.emplace_back();
    m.name = p.name;
    m.attempts.emplace_back(p.name, p.addresses, request, 0, std::min(per_reducer, wire::kMaxWindowBytes),
                            deadline);
  }
  Deadline speak = Deadline::after(kQuietFor);
  for (;;) {
    bool pending = false;
    for (Member& m : members) {
      const LaneAttempt& first = m.attempts.front();
      if (first.state() == LaneAttempt::State::kDone && m.attempts.size() == 1) {
        const uint32_t lanes = first.welcome().lanes;
        // Not less than a few blocks: small messages do not fall evenly on the lanes at every moment.
        const uint64_t window = std::min(
            std::max<uint64_t>(per_reducer / lanes, 4 * first.welcome().block_bytes), wire::kMaxWindowBytes);
        for (uint32_t l = 1; l < lanes; ++l)
          m.attempts.emplace_back(m.name, std::vector{first.address()}, request, l, window, deadline);
      }
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
    j.id = m.attempts.front().welcome().reducer;
    for (LaneAttempt& a : m.attempts) j.lanes.push_back(a.take());
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
