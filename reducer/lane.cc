#include "reducer/lane.h"

#include <pthread.h>
#include <time.h>

#include <algorithm>

#include "reducer/lane_session.h"
#include "reducer/member.h"
#include "reducer/thread.h"
#include "transport/affinity.h"

namespace fanin::reducer {

using std::chrono::milliseconds;

LaneContext::LaneContext(const ReducerConfig& config, SessionTable& table, uint32_t index, Epoll epoll,
                         LaneCounters& counters)
    : config(config), table(table), index(index), epoll(std::move(epoll)), counters(counters) {}

LaneContext::~LaneContext() = default;

Result<std::unique_ptr<Lane>> Lane::start(const ReducerConfig& config, SessionTable& table, uint32_t index) {
  Result<Epoll> epoll = Epoll::make();
  if (!epoll) return epoll.error();
  Result<Wake> wake = Wake::make();
  if (!wake) return wake.error();
  std::unique_ptr<Lane> lane(new Lane(config, table, index, *std::move(epoll), *std::move(wake)));
  if (Status s = lane->context_.epoll.add(lane->wake_.fd(), EPOLLIN, nullptr); !s) return s.error();
  Result<std::thread> thread =
      start_thread("fanin-lane" + std::to_string(index), [p = lane.get()] { p->run(); });
  if (!thread) return thread.error();
  lane->thread_ = *std::move(thread);
  return lane;
}

Lane::Lane(const ReducerConfig& config, SessionTable& table, uint32_t index, Epoll epoll, Wake wake)
    : context_(config, table, index, std::move(epoll), counters_),
      wake_(std::move(wake)),
      // Often enough that a timeout is late by an eighth at most; sessions that end linger on the same tick.
      tick_every_(config.timeout.count() == 0
                      ? milliseconds(250)
                      : std::clamp(config.timeout / 8, milliseconds(5), milliseconds(250))) {}

Lane::~Lane() {
  if (!thread_.joinable()) return;
  stop_.store(true, std::memory_order_release);
  wake_.notify();
  thread_.join();
}

void Lane::post(Arrival arrival) {
  {
    std::lock_guard lock(mailbox_mutex_);
    mailbox_.push_back(std::move(arrival));
  }
  wake_.notify();
}

int Lane::sleep_ms() const {
  if (sessions_.empty()) return -1;
  auto left = std::chrono::ceil<milliseconds>(next_tick_ - LaneContext::Clock::now()).count();
  return static_cast<int>(std::max<long long>(left, 0));
}

void Lane::run() {
  context_.thread.check();  // binds it
  if (const LanePlace* place = context_.place())
    if (Status s = run_this_thread_on(place->cpus); !s)
      context_.log("warning: lane " + std::to_string(context_.index) + " is not pinned: " + s.error().text());
  epoll_event events[64];
  while (!stop_.load(std::memory_order_acquire)) {
    auto ready = context_.epoll.wait(events, sleep_ms());
    context_.now = LaneContext::Clock::now();
    for (const epoll_event& e : ready) {
      if (!e.data.ptr) {
        wake_.drain();
        take_arrivals();
        if (looks_.wanted()) answer_look();
        continue;
      }
      Member& m = *static_cast<Member*>(e.data.ptr);
      if (m.closed()) continue;
      LaneSession& session = m.session();
      m.on_event(e.events);
      session.pump();
    }
    // Only now, when every rank's bytes are in: the more there is, the fewer the frames.
    for (const epoll_event& e : ready)
      if (auto* m = static_cast<Member*>(e.data.ptr); m && !m->closed()) m->session().pump_part();
    if (context_.now >= next_tick_) tick();
    end_turn();
  }
  take_arrivals();
  for (auto& [serial, session] : sessions_) {
    session->abort(wire::AbortCode::kShutdown, wire::kNoRank, "the reducer was stopped");
    session->close_all();
  }
  end_turn();
}

void Lane::take_arrivals() {
  {
    std::lock_guard lock(mailbox_mutex_);
    taken_.swap(mailbox_);
  }
  for (Arrival& a : taken_) join(std::move(a));
  taken_.clear();
}

void Lane::join(Arrival a) {
  context_.thread.check();
  auto& session = sessions_[a.session->serial];
  if (!session) {
    if (sessions_.size() == 1) next_tick_ = context_.now + tick_every_;
    SessionTable::Past past = context_.table.past(a.session, a.lane);
    Result<std::unique_ptr<LaneSession>> made = LaneSession::make(context_, a.session, past);
    if (!made) {
      context_.log("session " + a.session->name + ": " + made.error().text());
      sessions_.erase(a.session->serial);
      context_.table.mark_broken(a.session, {wire::AbortCode::kInternal, wire::kNoRank, made.error().text()});
      context_.table.leave(a.session, a.lane, a.rank);
      return;  // the worker sees its connection closed
    }
    session = *std::move(made);
    if (past.broken) session->abort(past.broken->code, past.broken->rank, past.broken->text);
  }
  session->join(std::move(a.stream), a.rank);
}

void Lane::answer_look() {
  context_.thread.check();
  std::vector<LaneLooks::Seen> seen;
  seen.reserve(sessions_.size());
  for (auto& [serial, session] : sessions_) seen.push_back({serial, session->view()});
  looks_.put(std::move(seen));
}

double Lane::cpu_seconds() const {
  clockid_t clock;
  timespec used{};
  if (!thread_.joinable() ||
      pthread_getcpuclockid(const_cast<std::thread&>(thread_).native_handle(), &clock) != 0 ||
      clock_gettime(clock, &used) != 0)
    return 0;
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

void Lane::tick() {
  next_tick_ = context_.now + tick_every_;
  for (auto& [serial, session] : sessions_) session->check_timeouts();
}

void Lane::end_turn() {
  if (context_.closed.empty()) return;
  context_.closed.clear();
  std::erase_if(sessions_, [](auto& entry) { return entry.second->empty(); });
}

}  // namespace fanin::reducer
