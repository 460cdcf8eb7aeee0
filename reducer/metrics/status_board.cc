#include "reducer/metrics/status_board.h"

#include <algorithm>

#include "fanin/json.h"
#include "fanin/version.h"
#include "reducer/metrics/exposition.h"
#include "reducer/metrics/names.h"
#include "reducer/metrics/page.h"
#include "reducer/metrics/process_usage.h"

namespace fanin::reducer::metrics {
namespace {

double seconds(Deadline::Clock::duration d) { return std::chrono::duration<double>(d).count(); }

// The lane on which a session has stood still for longest; null: none has.
const LaneSessionView* longest_wait(const SessionView& s) {
  const LaneSessionView* worst = nullptr;
  for (const LaneSessionView& l : s.lanes)
    if (l.waited.count() > 0 && (!worst || l.waited > worst->waited)) worst = &l;
  return worst;
}

}  // namespace

StatusBoard::StatusBoard(Reducer& reducer, const ReducerConfig& config, DrainDoor drain)
    : reducer_(reducer),
      lanes_(config.lanes),
      memory_(config.memory),
      stall_(config.stall),
      started_(Deadline::Clock::now()),
      start_time_(std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count()),
      drain_(std::move(drain)) {}

http::Response StatusBoard::answer(const http::Request& request, const http::ServerCounts& server) {
  if (request.path == "/drain") return drain_.answer(request, Deadline::Clock::now());
  if (request.method != "GET") return {405, "GET is what there is\n"};
  if (request.path == "/metrics") return metrics(server);
  if (request.path == "/healthz") return health();
  if (request.path == "/readyz") return ready();
  if (request.path == "/sessions") return sessions();
  if (request.path == "/") return {200, std::string(page()), "text/html; charset=utf-8"};
  return {404, "there are /, /metrics, /healthz, /readyz and /sessions\n"};
}

const StatusBoard::Look& StatusBoard::look() {
  const Time now = Deadline::Clock::now();
  if (look_.at == Time{} || now - look_.at >= kLookEvery) {
    look_.sessions = reducer_.sessions(Deadline::after(kLookTime));
    look_.stats = reducer_.stats();
    look_.lanes = reducer_.lanes();
    look_.at = Deadline::Clock::now();
  }
  return look_;
}

http::Response StatusBoard::metrics(const http::ServerCounts& server) {
  const Look& seen = look();
  const ReducerStats& s = seen.stats;
  const std::vector<LaneStats>& lanes = seen.lanes;
  const ProcessUsage process = process_usage();
  uint64_t waiting = 0;
  Deadline::Clock::duration longest{};
  for (const SessionView& v : seen.sessions)
    if (const LaneSessionView* l = longest_wait(v)) {
      longest = std::max(longest, l->waited);
      waiting += stall_.count() > 0 && l->waited >= stall_;
    }

  Exposition e;
  const auto one = [&](Metric m, auto value) { e.begin(m).sample(value); };
  const auto each_lane = [&](Metric m, auto value_of) {
    e.begin(m);
    for (size_t i = 0; i < lanes.size(); ++i) e.sample(value_of(lanes[i]), std::to_string(i));
  };
  e.begin(Metric::kBuildInfo).sample(uint64_t{1}, kFaninVersion);
  one(Metric::kStartTime, start_time_);
  one(Metric::kReady, uint64_t{!s.draining});
  one(Metric::kLanes, uint64_t{lanes_});
  one(Metric::kSessions, s.sessions_open);
  one(Metric::kSessionsOpened, s.sessions_total);
  e.begin(Metric::kSessionsAborted);
  for (size_t i = 0; i < s.sessions_aborted.size(); ++i)
    if (const char* name = name_of(static_cast<wire::AbortCode>(i)); *name)
      e.sample(s.sessions_aborted[i], name);
  one(Metric::kSessionsWaiting, waiting);
  one(Metric::kLongestWait, seconds(longest));
  one(Metric::kConnections, s.connections_open);
  one(Metric::kMemory, memory_);
  one(Metric::kMemoryUsed, s.memory_used);
  each_lane(Metric::kReceived, [](const LaneStats& l) { return l.bytes_in; });
  each_lane(Metric::kSent, [](const LaneStats& l) { return l.bytes_out; });
  each_lane(Metric::kReduced, [](const LaneStats& l) { return l.bytes_reduced; });
  each_lane(Metric::kSlices, [](const LaneStats& l) { return l.slices; });
  each_lane(Metric::kLaneAborts, [](const LaneStats& l) { return l.aborted; });
  each_lane(Metric::kLaneCpu, [](const LaneStats& l) { return l.cpu_seconds; });
  one(Metric::kAccepted, s.guests.accepted);
  one(Metric::kHandshakes, s.guests.waiting);
  e.begin(Metric::kHandshakesEnded);
  for (size_t i = 0; i < kGuestEnds; ++i)
    e.sample(s.guests.ended[i], guest_end_name(static_cast<GuestEnd>(i)));
  e.begin(Metric::kRefusals);
  for (size_t i = 0; i < s.guests.refused.size(); ++i)
    if (const char* name = name_of(static_cast<wire::Refusal>(i)); *name) e.sample(s.guests.refused[i], name);
  one(Metric::kHttpConnections, server.open);
  one(Metric::kHttpAnswered, server.answered);
  one(Metric::kHttpDropped, server.dropped);
  one(Metric::kCpu, process.cpu_seconds);
  one(Metric::kResident, process.resident_bytes);
  one(Metric::kOpenFiles, process.open_files);
  one(Metric::kMaxFiles, process.max_files);
  return {200, e.text(), Exposition::kType};
}

// Whether the lanes' loops turn; asks without waiting for their answer.
http::Response StatusBoard::health() {
  std::string dead;
  for (const LaneStats& l : reducer_.lanes())
    if (l.silent >= kDead)
      dead += (dead.empty() ? "" : ", ") + std::to_string(static_cast<int>(seconds(l.silent))) + " s";
  if (const Time now = Deadline::Clock::now(); now - std::max(look_.at, asked_) >= kLookEvery) {
    (void)reducer_.sessions(Deadline::after(std::chrono::milliseconds(0)));
    asked_ = now;
  }
  if (!dead.empty()) return {503, "lanes have not answered for " + dead + "\n"};
  return {200, "ok\n"};
}

http::Response StatusBoard::ready() const {
  if (reducer_.stats().draining) return {503, "draining: no new sessions are taken\n"};
  return {200, "ok\n"};
}

http::Response StatusBoard::sessions() {
  const Look& seen = look();
  const ReducerStats& s = seen.stats;
  uint64_t aborted = 0;
  for (uint64_t n : s.sessions_aborted) aborted += n;
  Json j;
  j.open('{').key("version").value(kFaninVersion);
  j.key("uptime_seconds").value(seconds(seen.at - started_));  // of the numbers below
  j.key("draining").value(s.draining);
  j.key("memory_bytes").value(memory_).key("memory_used_bytes").value(s.memory_used);
  j.key("sessions_opened").value(s.sessions_total).key("sessions_aborted").value(aborted);
  j.key("connections").value(s.connections_open).key("stall_seconds").value(seconds(stall_));
  j.key("lanes").open('[');
  for (const LaneStats& l : seen.lanes) {
    j.open('{').key("received_bytes").value(l.bytes_in).key("sent_bytes").value(l.bytes_out);
    j.key("reduced_bytes").value(l.bytes_reduced).key("cpu_seconds").value(l.cpu_seconds).close('}');
  }
  j.close(']');
  j.key("sessions").open('[');
  for (const SessionView& v : seen.sessions) {
    LaneSessionView sum;
    for (const LaneSessionView& l : v.lanes) {
      sum.bytes_in += l.bytes_in;
      sum.bytes_out += l.bytes_out;
      sum.bytes_reduced += l.bytes_reduced;
      sum.message = std::max(sum.message, l.message);
    }
    const LaneSessionView* wait = longest_wait(v);
    j.open('{').key("name").value(v.name).key("serial").value(v.serial);
    j.key("ranks").value(v.nranks).key("connections").value(v.connections);
    j.key("age_seconds").value(seconds(v.age)).key("memory_bytes").value(v.memory);
    j.key("secret").value(printable(v.secret));
    j.key("received_bytes").value(sum.bytes_in).key("sent_bytes").value(sum.bytes_out);
    j.key("reduced_bytes").value(sum.bytes_reduced).key("message").value(sum.message);
    j.key("waiting_seconds").value(wait ? seconds(wait->waited) : 0.0);
    j.key("waiting_for").value(wait ? printable(wait->awaited) : "");
    j.key("aborted").value(printable(v.broken));
    j.key("lanes").open('[');
    for (const LaneSessionView& l : v.lanes) {
      j.open('{').key("lane").value(l.lane).key("connections").value(l.connections);
      j.key("received_bytes").value(l.bytes_in).key("sent_bytes").value(l.bytes_out);
      j.key("reduced_bytes").value(l.bytes_reduced).key("slices").value(l.slices);
      j.key("message").value(l.message).key("blocks_waiting").value(l.blocks_waiting);
      j.key("waiting_seconds").value(seconds(l.waited)).key("waiting_for").value(printable(l.awaited));
      j.close('}');
    }
    j.close(']').close('}');
  }
  j.close(']').close('}');
  return {200, j.text() + "\n", "application/json"};
}

}  // namespace fanin::reducer::metrics
