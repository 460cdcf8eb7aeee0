// Every metric that a reducer exports: its name, type, labels and meaning. docs/metrics.md is made from this table, and
// the exposition (exposition.h) takes names from nowhere else.
#pragma once
#include <cstddef>

namespace fanin::reducer::metrics {

enum class Kind { kCounter, kGauge };

struct Family {
  const char* name;
  Kind kind;
  const char* label;   // its only label, or ""; the values are bounded by `values`
  const char* values;  // what the label may be
  const char* help;
};

enum class Metric : size_t {
  kBuildInfo,
  kStartTime,
  kReady,
  kLanes,
  kSessions,
  kSessionsOpened,
  kSessionsAborted,
  kSessionsWaiting,
  kLongestWait,
  kConnections,
  kMemory,
  kMemoryUsed,
  kReceived,
  kSent,
  kReduced,
  kSlices,
  kLaneAborts,
  kLaneCpu,
  kAccepted,
  kHandshakes,
  kHandshakesEnded,
  kRefusals,
  kHttpConnections,
  kHttpAnswered,
  kHttpDropped,
  kCpu,
  kResident,
  kOpenFiles,
  kMaxFiles,
  kCount,
};

inline constexpr Family kFamilies[] = {
    {"fanin_reducer_build_info", Kind::kGauge, "version", "the version of fanin", "Always 1."},
    {"fanin_reducer_start_time_seconds", Kind::kGauge, "", "",
     "When the reducer was started, in seconds since 1970."},
    {"fanin_reducer_ready", Kind::kGauge, "", "", "1 while new sessions are taken, 0 while draining."},
    {"fanin_reducer_lanes", Kind::kGauge, "", "", "Reducing threads."},
    {"fanin_reducer_sessions", Kind::kGauge, "", "", "Sessions that are open."},
    {"fanin_reducer_sessions_opened_total", Kind::kCounter, "", "", "Sessions opened."},
    {"fanin_reducer_sessions_aborted_total", Kind::kCounter, "reason",
     "rank_lost, disagreement, protocol, rank_left, shutdown, internal, timeout, damaged",
     "Sessions that did not end well, by the first cause."},
    {"fanin_reducer_sessions_waiting", Kind::kGauge, "", "",
     "Sessions in which some ranks have waited for others for longer than --stall-ms (never, if that is 0)."},
    {"fanin_reducer_longest_wait_seconds", Kind::kGauge, "", "",
     "For how long some ranks have waited for others, in the session where it is longest."},
    {"fanin_reducer_connections", Kind::kGauge, "", "", "Connections of admitted ranks."},
    {"fanin_reducer_memory_bytes", Kind::kGauge, "", "", "What --memory allows for blocks of all sessions."},
    {"fanin_reducer_memory_used_bytes", Kind::kGauge, "", "", "What is promised to sessions."},
    {"fanin_reducer_received_bytes_total", Kind::kCounter, "lane", "0 to lanes - 1",
     "Payload received from ranks."},
    {"fanin_reducer_sent_bytes_total", Kind::kCounter, "lane", "0 to lanes - 1", "Payload sent to ranks."},
    {"fanin_reducer_reduced_bytes_total", Kind::kCounter, "lane", "0 to lanes - 1",
     "Results produced by summing; each has used as many input bytes of every rank."},
    {"fanin_reducer_slices_total", Kind::kCounter, "lane", "0 to lanes - 1",
     "Slices completed; a message has one on each lane that it uses."},
    {"fanin_reducer_lane_aborts_total", Kind::kCounter, "lane", "0 to lanes - 1",
     "Sessions that ended in an abort on this lane."},
    {"fanin_reducer_lane_cpu_seconds_total", Kind::kCounter, "lane", "0 to lanes - 1",
     "Processor time of the lane's thread; a lane that uses a whole core is the limit."},
    {"fanin_reducer_connections_accepted_total", Kind::kCounter, "", "",
     "Connections that came to --listen."},
    {"fanin_reducer_handshakes", Kind::kGauge, "", "",
     "Handshakes in progress, and tuners' questions that wait for other ranks'."},
    {"fanin_reducer_handshakes_ended_total", Kind::kCounter, "outcome",
     "admitted, refused, answered, not_allowed, not_fanin, silent, hung_up, crowded_out",
     "How handshakes and tuners' questions ended."},
    {"fanin_reducer_refusals_total", Kind::kCounter, "reason",
     "version, malformed, no_memory, draining, duplicate, mismatch, too_many, broken, auth",
     "Ranks that were refused, by what they were told."},
    {"fanin_reducer_http_connections", Kind::kGauge, "", "", "Connections to --metrics that are open."},
    {"fanin_reducer_http_answered_total", Kind::kCounter, "", "",
     "Requests to --metrics that were answered."},
    {"fanin_reducer_http_dropped_total", Kind::kCounter, "", "",
     "Connections to --metrics that got no answer: not allowed, out of time, hung up, crowded out."},
    {"fanin_reducer_cpu_seconds_total", Kind::kCounter, "", "",
     "Processor time of the process, user and system."},
    {"fanin_reducer_resident_memory_bytes", Kind::kGauge, "", "", "Resident memory of the process."},
    {"fanin_reducer_open_fds", Kind::kGauge, "", "", "Descriptors that are open."},
    {"fanin_reducer_max_fds", Kind::kGauge, "", "", "Descriptors that may be open."},
};
static_assert(sizeof kFamilies / sizeof *kFamilies == static_cast<size_t>(Metric::kCount));

constexpr const Family& family(Metric m) { return kFamilies[static_cast<size_t>(m)]; }

}  // namespace fanin::reducer::metrics
