// All sessions of a reducer: who sits where, and how much of the memory is promised. Decides admission.
//
// A session exists from its first admitted connection until its last one is gone; its memory, for all lanes,
// is taken at the first and given back at the last. One mutex; used when connections come and go, never on
// the data path. A Session* stays valid for a lane while it holds a connection it has not left() yet.
#pragma once
#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "fanin/wire.h"
#include "reducer/block_arena.h"
#include "reducer/session_view.h"
#include "transport/deadline.h"

namespace fanin::reducer {

// Why a session can no longer work, for ranks that come late.
struct Breakage {
  wire::AbortCode code = wire::AbortCode::kInternal;
  uint32_t rank = wire::kNoRank;
  std::string text;
};

struct Session {
  // Constant once made.
  wire::SessionId id{};
  wire::KeyId key{};   // of the secret its ranks have proved; part of its name
  std::string secret;  // what that one is called, or ""
  uint32_t nranks = 0;
  uint32_t window_blocks = 0;  // per lane and rank
  uint64_t bytes = 0;          // of --memory, all lanes
  bool checksums = false;
  std::string name;     // "3fa2c01b", for messages
  uint64_t serial = 0;  // unique in this reducer, unlike the address of this struct

  // Made with the session, so that one without memory is refused rather than lost; each is taken by its lane.
  std::vector<BlockArena> arenas;

  // The table's, under its mutex.
  struct Seat {
    std::string peer;
    bool left = false;
  };
  std::unordered_map<uint64_t, Seat> seats;  // by lane and rank
  uint32_t open = 0;                         // connections
  std::optional<Breakage> broken;
  Deadline::Clock::time_point since{};  // opened
  Deadline::Clock::time_point
      told_until{};  // a stall of one of its lanes was logged; the others' need not be
};

struct TableConfig {
  uint32_t lanes = 1;
  uint32_t block_bytes = 0;
  uint64_t memory = 0;
  uint32_t max_connections = 0;
  uint32_t max_sessions = UINT32_MAX;
  uint64_t max_session_memory = 0, max_job_memory = 0;  // 0: no limit but memory
};

// Outcome of asking for a seat: session is set when admitted, else refusal and text.
struct Admission {
  Session* session = nullptr;
  wire::Refusal refusal = wire::Refusal::kNone;
  std::string text;
  bool first = false;  // opened the session
};

class SessionTable {
 public:
  explicit SessionTable(const TableConfig& config) : config_(config) {}

  // What the smallest session takes: two ranks, the least window, all lanes.
  static uint64_t least_memory(uint32_t lanes, uint32_t block_bytes);

  // hello has been checked by check_hello (handshake.h), and its key has been proved; secret: what that is called.
  Admission admit(const wire::Hello& hello, const std::string& peer, const std::string& secret = "");
  // The connection of this rank on this lane is gone. True when it was the session's last: the session is
  // freed.
  bool leave(Session* session, uint32_t lane, uint32_t rank);
  // An abort ended the session on one lane: nobody may join it any more. The first cause is kept and returned: a rank that
  // fails because of it closes its other lanes, and they must not take that for a cause of its own.
  Breakage mark_broken(Session* session, Breakage why);
  // What happened on a lane before its first connection came, or since its last one went: admitted ranks may still
  // be on their way to the lane when the ranks before them are gone already.
  struct Past {
    std::optional<Breakage> broken;
    uint32_t left = 0;       // ranks that came and went
    uint32_t left_rank = 0;  // one of them
  };
  Past past(const Session* session, uint32_t lane) const;
  // The ranks that never connected to the lane.
  std::vector<uint32_t> absent(const Session* session, uint32_t lane) const;

  void drain();
  bool wait_drained(Deadline deadline);

  // Whether to log that a lane of this session has stood still for `waited`: one line for all of its lanes.
  bool tell_stall(Session* session, Deadline::Clock::time_point now, Deadline::Clock::duration waited);
  struct Counts {
    uint64_t open = 0, total = 0, connections = 0, memory_used = 0;
    std::array<uint64_t, wire::kNumAbortCodes> aborted{};  // sessions, by wire::AbortCode of the first cause
    bool draining = false;
  };
  Counts counts() const;
  // All sessions, oldest first, without what their lanes know.
  std::vector<SessionView> views() const;

 private:
  // The same id under another secret is another session: who has overheard a job's id can neither take it away nor ask for it.
  using Name = std::pair<wire::SessionId, wire::KeyId>;
  // Why a session that is gone ended broken; null when it did not, or long ago.
  const Breakage* was_broken(const Name& name) const;
  // Why a new session of this hello, which needs so much memory, cannot be; with no text if it can.
  Admission room_for(const wire::Hello& hello, uint64_t window, uint64_t need) const;

  const TableConfig config_;
  mutable std::mutex mutex_;
  std::condition_variable drained_;
  std::map<Name, std::unique_ptr<Session>> sessions_;
  // Sessions that ended broken and why, so that a late rank learns it instead of waiting alone. The newest
  // few.
  std::deque<std::pair<Name, Breakage>> broken_;
  Counts counts_;
  std::map<wire::KeyId, uint64_t> job_memory_;  // of the sessions of each secret that has some
  bool draining_ = false;
};

}  // namespace fanin::reducer
