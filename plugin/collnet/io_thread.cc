#include "plugin/collnet/io_thread.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <memory>
#include <thread>

#include "plugin/collnet/stall_log.h"
#include "transport/affinity.h"

namespace fanin::plugin::collnet {
namespace {

constexpr std::chrono::milliseconds kOtherCauses{100};
constexpr std::chrono::milliseconds kLastFrames{1000};
constexpr std::chrono::milliseconds kQuiet{100};  // no progress for so long is worth a look at the clocks
constexpr int kRounds = 16;                       // over the lanes, before epoll is asked again
constexpr uint64_t kAhead = 1 << 20;              // bytes of the session

}  // namespace

Result<std::unique_ptr<IoThread>> IoThread::make(IoOwner& owner, std::vector<Lane*> lanes,
                                                 const IoTuning& tuning) {
  Result<Epoll> epoll = Epoll::make();
  if (!epoll) return epoll.error();
  Result<Wake> wake = Wake::make();
  if (!wake) return wake.error();
  if (Status s = epoll->add(wake->fd(), EPOLLIN, nullptr); !s) return s.error();
  for (Lane* lane : lanes)
    if (Status s = epoll->add(lane->fd(), EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, lane); !s)
      return s.error();
  return std::unique_ptr<IoThread>(
      new IoThread(owner, std::move(lanes), tuning, std::move(*epoll), std::move(*wake)));
}

Status IoThread::start(int number) {
  // The host's signal handlers must not run here.
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  const int rc = pthread_create(
      &thread_, nullptr,
      [](void* self) -> void* {
        auto* io = static_cast<IoThread*>(self);
        io->run();
        io->owner_.io_ended();
        return nullptr;
      },
      this);
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  const std::string name = "fanin-io-" + std::to_string(number);
  if (rc != 0) return thread_error(name, rc);
  running_ = true;
  pthread_setname_np(thread_, name.c_str());
  return {};
}

void IoThread::stop() {
  if (!running_) return;
  stop_.store(true, std::memory_order_release);
  interrupt();
  pthread_join(thread_, nullptr);
  running_ = false;
}

void IoThread::run() {
  on_thread_.check();                                                 // binds it
  if (!tuning_.cpus.empty()) (void)run_this_thread_on(tuning_.cpus);  // the cgroup may have changed: no harm
  std::array<epoll_event, 64> events;
  Clock::time_point now = Clock::now(), last_moved = now;
  while (!stop_.load(std::memory_order_acquire)) {
    bool moved = false;
    for (int round = 0; round < kRounds; ++round) {
      bool again = false;
      const uint64_t end = abreast();
      for (Lane* lane : lanes_) {
        const bool lane_moved = service(*lane, end);
        again |= lane_moved;
        watch_clock(*lane, now, lane_moved);
      }
      if (!again) break;
      moved = true;
    }
    if (owner_.failure().is_set()) return close_lanes();

    int timeout_ms = 0;
    if (moved) {
      last_moved = now;
    } else if (now - last_moved >= tuning_.poll) {
      asleep_.store(true, std::memory_order_seq_cst);
      // Whoever posts after this look sees that we sleep.
      if (!anything_to_send()) timeout_ms = tick_ms();
    }
    for (const epoll_event& e : epoll_.wait(events, timeout_ms)) {
      auto* lane = static_cast<Lane*>(e.data.ptr);
      if (!lane) {
        wake_.drain();
        continue;
      }
      if (e.events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) lane->readable = true;
      if (e.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) lane->hung_up = true;
      if (e.events & EPOLLOUT) lane->writable = true;
    }
    asleep_.store(false, std::memory_order_relaxed);
    now = Clock::now();
  }
}

uint64_t IoThread::abreast() const {
  uint64_t least = UINT64_MAX - kAhead;
  for (const Lane* lane : lanes_) least = std::min(least, lane->position());
  return least + kAhead;
}

// One read and one step of sending, so that no lane gets ahead of the others.
bool IoThread::service(Lane& lane, uint64_t end) {
  on_thread_.check();
  bool moved = false;
  if (lane.readable) moved |= receive(lane);
  if (!lane.writable || lane.position() > end) return moved;
  switch (lane.try_send(Lane::Pace::kStep)) {
    case Lane::SendOutcome::kMoved:
      return true;
    case Lane::SendOutcome::kFull:
      lane.writable = false;
      return true;
    // Whatever the reducer said before it hung up is still to be read, and ends with the end of the
    // stream.
    case Lane::SendOutcome::kBroken:
      lane.writable = false;
      return lane.readable = lane.hung_up = true;
    case Lane::SendOutcome::kIdle:
    case Lane::SendOutcome::kBusy:
      break;
  }
  return moved;
}

bool IoThread::receive(Lane& lane) {
  const uint64_t before = lane.blocks_received();
  const LaneReceiver::Outcome outcome = lane.receive([&](Request* r) { owner_.slice_done(r, &lane); });
  if (lane.take_notice() && lane.blocks_received() == before) lane.only_notice = true;
  switch (outcome) {
    case LaneReceiver::Outcome::kMoved:
      return true;
    case LaneReceiver::Outcome::kDrained:
      // After a hang-up no further edge comes: read on until the end.
      if (!lane.hung_up) lane.readable = false;
      return true;
    case LaneReceiver::Outcome::kNothing:
      if (!lane.hung_up || lane.os_error() == 0) break;
      [[fallthrough]];
    case LaneReceiver::Outcome::kClosed: {
      const std::string what = "lost the connection to " + lane.name();
      lost(lane,
           lane.os_error() != 0
               ? system_error(what, lane.os_error(), Errc::kRemote)
               : Error(Errc::kRemote, what + ": the reducer closed it (has it ended or been restarted?)"),
           wire::AbortCode::kRankLeft);
      break;
    }
    case LaneReceiver::Outcome::kAborted:
      switch (const wire::AbortCode code = lane.abort_code()) {
        case wire::AbortCode::kRankLost:
        case wire::AbortCode::kRankLeft:
          lost(lane, lane.abort_error().in(lane.name()), code);
          break;
        default:
          owner_.fail(lane.abort_error().in(lane.name()), code);
      }
      break;
  }
  lane.readable = false;
  return false;
}

// A rank or a connection that is gone may only be the consequence of what another lane is about to say (two ranks disagree,
// a rank was silent): that is the better cause, and is waited for a moment.
void IoThread::lost(Lane& lane, Error error, wire::AbortCode code) {
  lane.lost = true;
  if (asking_) return;
  asking_ = true;
  for (const auto until = Clock::now() + kOtherCauses; Clock::now() < until && !owner_.failure().is_set();) {
    for (Lane* l : lanes_)
      if (!l->lost) receive(*l);
    if (lanes_.size() == owner_.lane_count() &&
        std::all_of(lanes_.begin(), lanes_.end(), [](Lane* l) { return l->lost; }))
      break;
    if (stop_.load(std::memory_order_acquire)) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  owner_.fail(std::move(error), code);
}

bool IoThread::anything_to_send() {
  const uint64_t end = abreast();
  return std::any_of(lanes_.begin(), lanes_.end(),
                     [&](Lane* l) { return l->writable && l->position() <= end && l->send_ready(); });
}

void IoThread::watch_clock(Lane& lane, Clock::time_point now, bool moved) {
  const bool outstanding = lane.outstanding();
  const bool progress = moved && !lane.only_notice;
  lane.only_notice = false;
  if (progress || !outstanding || !lane.was_outstanding) {
    if (lane.told_stalled) owner_.went_on(now - lane.last_progress);
    lane.told_stalled = false;
    if (!lane.awaited.empty()) lane.awaited.clear();
    lane.last_progress = now;
  }
  lane.was_outstanding = outstanding;
  const auto waited = now - lane.last_progress;
  if (outstanding && waited >= kQuiet) watch_silence(lane, now, waited);
}

// Out of line: it is rare.
void IoThread::watch_silence(Lane& lane, Clock::time_point now, Clock::duration waited) {
  if (now >= lane.look_at) {
    lane.look_at = now + kQuiet;
    if (tuning_.stall.count() != 0 && waited >= tuning_.stall) {
      lane.told_stalled = true;
      owner_.waiting(lane, waited);
    }
    const auto unanswered = lane.unanswered();
    if (unanswered >= tuning_.keepalive)
      return owner_.fail(Error(Errc::kRemote, "lost the connection to " + lane.name() +
                                                  ": its host has answered nothing for " +
                                                  std::to_string(unanswered.count()) + " ms"),
                         wire::AbortCode::kRankLeft);
  }
  if (tuning_.timeout.count() == 0 || waited < tuning_.timeout) return;
  const std::string so_long = " for " + std::to_string(tuning_.timeout.count()) + " ms with " +
                              std::to_string(lane.messages_outstanding()) + " messages outstanding";
  owner_.fail(
      lane.awaited.empty()
          ? Error(Errc::kRemote,
                  lane.name() + " was silent" + so_long +
                      " (a reducer or a rank hangs, or a rank is later than FANIN_TIMEOUT_MS allows)")
          : Error(Errc::kRemote, "waited" + so_long + " for " + awaited_text(lane.name(), lane.awaited) +
                                     " (it hangs, or is later than FANIN_TIMEOUT_MS allows)"),
      wire::AbortCode::kTimeout);
}

// The first error has been logged; others hear of it by the end of these connections.
void IoThread::close_lanes() {
  on_thread_.check();
  const Failure& f = owner_.failure();
  // Nobody else knows which connection damaged a result: time to come between two frames, where it can be said. Also when
  // the communicator is closed meanwhile, as whoever gets the error does at once.
  if (f.code() == wire::AbortCode::kDamaged)
    for (const auto until = Clock::now() + kLastFrames; Clock::now() < until;) {
      bool ended = true;
      for (Lane* lane : lanes_) ended &= lane->end_frame();
      if (ended) break;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  for (Lane* lane : lanes_) lane->close(wire::FrameType::kAbort, f.code(), f.error().text());
}

// Sleeps are bounded so that silence is noticed also when a message was sent by the progress thread itself.
int IoThread::tick_ms() const {
  std::chrono::milliseconds least = tuning_.keepalive;
  for (auto t : {tuning_.timeout, tuning_.stall})
    if (t.count() != 0) least = std::min(least, t);
  return static_cast<int>(std::clamp<int64_t>(least.count() / 4, 1, 1000));
}

}  // namespace fanin::plugin::collnet
