#include "reducer/session_table.h"

#include <algorithm>

#include "fanin/session_name.h"
#include "reducer/mib.h"

namespace fanin::reducer {
namespace {

constexpr uint32_t kMinWindowBlocks = 4;  // fewer would stall the stream between a block and its answer
constexpr size_t kBrokenRemembered = 1024;

uint64_t seat_key(uint32_t lane, uint32_t rank) { return uint64_t{lane} << 32 | rank; }

Admission refuse(wire::Refusal why, std::string text) {
  Admission a;
  a.refusal = why;
  a.text = std::move(text);
  return a;
}

}  // namespace

uint64_t SessionTable::least_memory(uint32_t lanes, uint32_t block_bytes) {
  return uint64_t{lanes} * 3 * kMinWindowBlocks * block_bytes;
}

const Breakage* SessionTable::was_broken(const Name& name) const {
  auto it = std::find_if(broken_.begin(), broken_.end(), [&](auto& b) { return b.first == name; });
  return it == broken_.end() ? nullptr : &it->second;
}

Admission SessionTable::room_for(const wire::Hello& hello, uint64_t window, uint64_t need) const {
  if (sessions_.size() >= config_.max_sessions)
    return refuse(wire::Refusal::kTooMany, "this reducer has its " + std::to_string(config_.max_sessions) +
                                               " sessions; raise --max-sessions or add reducers");
  const auto job = job_memory_.find(hello.key);
  const uint64_t of_job = job == job_memory_.end() ? 0 : job->second;
  const struct {
    const char* option;
    uint64_t limit, used;
  } limits[] = {{"--max-session-memory", config_.max_session_memory, 0},
                {"--max-job-memory", config_.max_job_memory, of_job},
                {"--memory", config_.memory, counts_.memory_used}};
  for (auto& l : limits) {
    if (l.limit == 0 || (l.used <= l.limit && need <= l.limit - l.used)) continue;
    const std::string option = l.option;
    return refuse(wire::Refusal::kNoMemory,
                  "a session of " + std::to_string(hello.nranks) + " ranks with a window of " +
                      mib(window * config_.block_bytes) + " on each of " + std::to_string(config_.lanes) +
                      " lanes needs " + mib(need) + ", " + mib(l.limit - std::min(l.limit, l.used)) + " of " +
                      option + " " + mib(l.limit) + " are free; raise it there or lower FANIN_WINDOW");
  }
  return {};
}

Admission SessionTable::admit(const wire::Hello& hello, const std::string& peer, const std::string& secret) {
  std::lock_guard lock(mutex_);
  auto rank_text = [&] { return "rank " + std::to_string(hello.rank); };
  if (counts_.connections >= config_.max_connections)
    return refuse(wire::Refusal::kTooMany, "this reducer has its " + std::to_string(config_.max_connections) +
                                               " connections; raise --max-connections or add reducers");
  const Name name{hello.session, hello.key};
  auto found = sessions_.find(name);
  if (found == sessions_.end()) {
    if (const Breakage* why = was_broken(name))
      return refuse(wire::Refusal::kBroken, "session " + session_name(hello.session) +
                                                " was aborted before this rank joined: " + why->text);
    if (draining_)
      return refuse(wire::Refusal::kDraining, "this reducer is shutting down and takes no new sessions");
    uint64_t stripe = uint64_t{config_.block_bytes} * config_.lanes;
    uint64_t window = std::max<uint64_t>(kMinWindowBlocks, (hello.window_bytes + stripe - 1) / stripe);
    // Below 2^12 ranks * 2^36 bytes * 2^8 lanes and change: no overflow.
    uint64_t need = config_.lanes * (uint64_t{hello.nranks} + 1) * window * config_.block_bytes;
    if (Admission no = room_for(hello, window, need); no.refusal != wire::Refusal::kNone) return no;
    auto session = std::make_unique<Session>();
    session->id = hello.session;
    session->key = hello.key;
    session->secret = secret;
    session->nranks = hello.nranks;
    session->window_blocks = static_cast<uint32_t>(window);
    session->bytes = need;
    session->checksums = (hello.capabilities & wire::kChecksums) != 0;
    session->name = session_name(hello.session);
    session->since = Deadline::Clock::now();
    for (uint32_t lane = 0; lane < config_.lanes; ++lane) {
      Result<BlockArena> arena = BlockArena::make((size_t{hello.nranks} + 1) * window, config_.block_bytes);
      if (!arena)
        return refuse(wire::Refusal::kNoMemory, "no memory for a session of " + std::to_string(hello.nranks) +
                                                    " ranks: " + arena.error().text());
      session->arenas.push_back(*std::move(arena));
    }
    found = sessions_.emplace(name, std::move(session)).first;
    counts_.memory_used += need;
    job_memory_[hello.key] += need;
    ++counts_.open;
    found->second->serial = ++counts_.total;
  }
  Session* s = found->second.get();
  if (s->broken)
    return refuse(wire::Refusal::kBroken, "session " + s->name + " was aborted: " + s->broken->text);
  if (s->nranks != hello.nranks)
    return refuse(wire::Refusal::kMismatch,
                  rank_text() + " says the session has " + std::to_string(hello.nranks) +
                      " ranks, the ranks before it said " + std::to_string(s->nranks));
  if (s->checksums != ((hello.capabilities & wire::kChecksums) != 0))
    return refuse(wire::Refusal::kMismatch, rank_text() + " at " + peer +
                                                " has FANIN_CHECKSUM=" + (s->checksums ? "0" : "1") +
                                                ", the ranks before it " + (s->checksums ? "1" : "0") +
                                                "; it must be the same on all ranks");
  auto [seat, is_new] = s->seats.try_emplace(seat_key(hello.lane, hello.rank));
  if (!is_new)
    return refuse(
        wire::Refusal::kDuplicate,
        rank_text() + (seat->second.left ? " has already left lane " : " is already connected to lane ") +
            std::to_string(hello.lane) + ", from " + seat->second.peer + "; each worker needs its own rank");
  seat->second.peer = peer;
  Admission a;
  a.session = s;
  a.first = s->open++ == 0;
  ++counts_.connections;
  return a;
}

bool SessionTable::leave(Session* session, uint32_t lane, uint32_t rank) {
  std::lock_guard lock(mutex_);
  --counts_.connections;
  session->seats[seat_key(lane, rank)].left = true;
  if (--session->open > 0) return false;
  const Name name{session->id, session->key};
  if (session->broken) {
    broken_.emplace_back(name, *std::move(session->broken));
    if (broken_.size() > kBrokenRemembered) broken_.pop_front();
  }
  counts_.memory_used -= session->bytes;
  auto job = job_memory_.find(session->key);
  if ((job->second -= session->bytes) == 0) job_memory_.erase(job);
  --counts_.open;
  sessions_.erase(name);
  if (draining_ && sessions_.empty()) drained_.notify_all();
  return true;
}

Breakage SessionTable::mark_broken(Session* session, Breakage why) {
  std::lock_guard lock(mutex_);
  if (!session->broken) {
    const auto code = static_cast<size_t>(why.code);
    if (code < counts_.aborted.size()) ++counts_.aborted[code];
    session->broken = std::move(why);
  }
  return *session->broken;
}

bool SessionTable::tell_stall(Session* session, Deadline::Clock::time_point now,
                              Deadline::Clock::duration waited) {
  std::lock_guard lock(mutex_);
  if (now < session->told_until) return false;
  session->told_until = now + waited / 2;  // before the next line about this stall is due
  return true;
}

SessionTable::Past SessionTable::past(const Session* session, uint32_t lane) const {
  std::lock_guard lock(mutex_);
  Past past{session->broken, 0, 0};
  for (const auto& [key, seat] : session->seats) {
    if (key >> 32 != lane || !seat.left) continue;
    ++past.left;
    past.left_rank = static_cast<uint32_t>(key);
  }
  return past;
}

std::vector<uint32_t> SessionTable::absent(const Session* session, uint32_t lane) const {
  std::lock_guard lock(mutex_);
  std::vector<uint32_t> ranks;
  for (uint32_t r = 0; r < session->nranks; ++r)
    if (!session->seats.contains(seat_key(lane, r))) ranks.push_back(r);
  return ranks;
}

void SessionTable::drain() {
  std::lock_guard lock(mutex_);
  draining_ = true;
  if (sessions_.empty()) drained_.notify_all();
}

bool SessionTable::wait_drained(Deadline deadline) {
  std::unique_lock lock(mutex_);
  auto done = [&] { return draining_ && sessions_.empty(); };
  if (deadline.poll_ms() < 0) {
    drained_.wait(lock, done);
    return true;
  }
  return drained_.wait_until(lock, deadline.at(), done);
}

SessionTable::Counts SessionTable::counts() const {
  std::lock_guard lock(mutex_);
  Counts c = counts_;
  c.draining = draining_;
  return c;
}

std::vector<SessionView> SessionTable::views() const {
  const auto now = Deadline::Clock::now();
  std::vector<SessionView> out;
  {
    std::lock_guard lock(mutex_);
    out.reserve(sessions_.size());
    for (const auto& [id, s] : sessions_) {
      SessionView v;
      v.name = s->name;
      v.serial = s->serial;
      v.nranks = s->nranks;
      v.memory = s->bytes;
      v.secret = s->secret;
      v.connections = s->open;
      v.age = now - s->since;
      if (s->broken) v.broken = s->broken->text;
      out.push_back(std::move(v));
    }
  }
  std::sort(out.begin(), out.end(), [](auto& a, auto& b) { return a.serial < b.serial; });
  return out;
}

}  // namespace fanin::reducer
