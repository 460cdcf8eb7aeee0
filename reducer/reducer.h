// A reducer as a library: acceptor, sessions and lanes, without command line or signals (reducer/main.cc has
// those).
//
// start() binds, listens and runs one acceptor thread and config.lanes lane threads, all owned by the object
// and joined by its destructor, which ends every session at once. All members may be called from any thread.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "fanin/error.h"
#include "fanin/figures.h"
#include "fanin/secret_file.h"
#include "reducer/guest_counters.h"
#include "reducer/session_view.h"
#include "transport/deadline.h"
#include "transport/tcp/address.h"
#include "transport/tcp/cidr.h"
#include "transport/tcp/rail.h"

namespace fanin {

// Where a lane runs.
struct LanePlace {
  std::vector<unsigned> cpus;
  int node = -1;  // whose memory its blocks use; -1: any
};

struct ReducerConfig {
  tcp::Address listen;              // port 0: any free port
  unsigned lanes = 1;               // 1 … wire::kMaxLanes
  std::vector<LanePlace> places;    // of each lane; empty: wherever the kernel puts them
  uint64_t memory = 1ull << 30;     // bytes for blocks of all sessions
  uint32_t block_bytes = 64 << 10;  // multiple of 64
  std::chrono::milliseconds handshake_timeout{5000};
  std::chrono::milliseconds timeout{600000};       // silence of an awaited rank; 0: for ever
  std::chrono::milliseconds join_timeout{600000};  // of a session's last rank after its first; 0: for ever
  std::chrono::milliseconds stall{5000};           // standing still before the ranks are told; 0: never
  std::chrono::milliseconds keepalive{30000};      // silence of a rank's host
  std::chrono::milliseconds figures_patience = wire::kFiguresPatience;  // shorter for tests only
  unsigned max_connections = 65536;
  unsigned max_sessions = 4096;
  uint64_t max_session_memory = 0;  // of `memory`; 0: all of it
  uint64_t max_job_memory = 0;      // of all sessions opened with one secret; 0: all of it
  // Handshakes in progress, in all and of one address (IPv6: of one /64).
  unsigned max_half_open = 4096, max_half_open_per_address = 1024;
  std::vector<tcp::Rail>
      rails;  // where workers may reach it besides the address they know; the port is `listen`'s
  bool rails_chosen = false;  // by a person: also for workers that know it by an address that is not its own
  tcp::NetworkList allow;     // who may connect; empty: everyone
  std::vector<NamedSecret> secrets;  // of the jobs that may join; empty: everyone may
  // Gets one line without newline per event a person may want to know of (sessions, refusals, aborts); called
  // from any of the reducer's threads, so it must be thread-safe and quick. Empty: silence.
  std::function<void(std::string_view)> log;
  // Whether the process has memory for one more connection; asked on the acceptor's thread. Empty: it has.
  std::function<bool()> has_memory;
};

struct ReducerStats {
  uint64_t sessions_open = 0, sessions_total = 0, connections_open = 0;
  uint64_t bytes_in = 0, bytes_out = 0;  // payload
  uint64_t bytes_reduced = 0;            // results produced by summing
  uint64_t messages = 0;                 // slices completed
  uint64_t refused = 0, strangers = 0, aborted = 0;
  reducer::GuestCounts guests;  // the connections that came, in detail
  uint64_t memory_used = 0;
  bool draining = false;
  std::array<uint64_t, wire::kNumAbortCodes> sessions_aborted{};  // by wire::AbortCode
};

// One lane, since the reducer was started.
struct LaneStats {
  uint64_t bytes_in = 0, bytes_out = 0, bytes_reduced = 0, slices = 0, aborted = 0;
  double cpu_seconds = 0;  // of its thread
  // For how long it has not answered whoever asked for sessions(); zero: it has.
  std::chrono::steady_clock::duration silent{};
};

class Reducer {
 public:
  static Result<std::unique_ptr<Reducer>> start(const ReducerConfig& config);
  virtual ~Reducer() = default;
  virtual tcp::Address address() const = 0;  // with the real port
  virtual void drain() = 0;                  // no new sessions from now on
  // True once draining and the last session has ended; false when the deadline passed first.
  virtual bool wait_drained(Deadline deadline) = 0;
  // From now on these secrets (at least one) are taken. Running sessions go on; who joins one late must still know
  // the secret it was opened with.
  virtual void set_secrets(std::vector<NamedSecret> secrets) = 0;
  virtual ReducerStats stats() const = 0;
  virtual std::vector<LaneStats> lanes() const = 0;  // by number
  // All sessions, oldest first. Each lane is asked and answers between two turns of its loop; what a lane that does not
  // answer by the deadline knows is left as it last said.
  virtual std::vector<SessionView> sessions(Deadline deadline) = 0;
};

}  // namespace fanin
