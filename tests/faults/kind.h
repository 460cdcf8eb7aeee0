// What the driver can do to a job, and what is known of each kind beforehand. Constant tables; any thread.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace fanin::faults {

enum class Kind {
  // Processes.
  kKillWorker,
  kExitWorker,   // exit() from another thread, nothing closed
  kAbortWorker,  // closeColl with messages in flight
  kStopWorker,   // SIGSTOP for longer than the time-outs
  kPauseWorker,  // SIGSTOP for less: nobody may notice
  kKillReducer,
  kRestartReducer,  // killed, and started again at the same address
  kStopReducer,
  kPauseReducer,
  kDrainReducer,  // SIGTERM
  // Connections between workers and reducers.
  kShutSocket,  // by the worker itself
  kCut,         // both sides closed after a drawn number of bytes
  kReset,
  kHalfClose,  // one direction ends
  kDelay,      // of every piece of traffic
  kCrumbs,     // a few bytes at a time
  kStall,      // one direction is not taken any more
  kPauseTraffic,
  // Links (network namespaces).
  kLinkDown,
  kLinkFlap,
  kDropOut,  // what a worker sends is lost
  kDropIn,   // what is sent to a worker is lost
  kDropBriefly,
  kCount
};

struct KindFacts {
  const char* name;
  bool disturbs;  // the job may fail of it; else it must end with right results
  bool silent;    // noticed by a time-out only
  bool proxied;   // needs the relay between workers and reducers
  bool links;     // needs network namespaces
  bool nccl;      // run under the real NCCL too
};
const KindFacts& facts(Kind kind);
std::optional<Kind> kind_named(const std::string& name);
// All kinds in order, without links where there are no network namespaces.
std::vector<Kind> kinds(bool links);

enum class Moment { kConnect, kRun, kClose };
const char* moment_name(Moment moment);

}  // namespace fanin::faults
