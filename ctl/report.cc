#include "ctl/report.h"

#include <algorithm>
#include <cstdio>
#include <map>

namespace fanin::ctl {
namespace {

template <class... A>
std::string format(const char* form, A... a) {
  char text[512];
  snprintf(text, sizeof text, form, a...);
  return text;
}

// "12.3 Gbit/s"
std::string rate(double bytes, double seconds) {
  double v = seconds > 0 ? std::max(bytes, 0.0) * 8 / seconds : 0;
  const char* unit = "bit/s";
  for (const char* u : {"kbit/s", "Mbit/s", "Gbit/s"}) {
    if (v < 1000) break;
    v /= 1000;
    unit = u;
  }
  return format(v < 10 && *unit != 'b'    ? "%.2f %s"
                : v < 100 && *unit != 'b' ? "%.1f %s"
                                          : "%.0f %s",
                v, unit);
}

std::string size(double bytes) {
  const char* unit = "B";
  for (const char* u : {"KiB", "MiB", "GiB", "TiB"}) {
    if (bytes < 1024) break;
    bytes /= 1024;
    unit = u;
  }
  return format(*unit == 'B' ? "%.0f %s" : "%.1f %s", bytes, unit);
}

// "3 d 4 h", "12 min 3 s", "4.5 s"
std::string span(double s) {
  const auto whole = static_cast<long long>(std::clamp(s, 0.0, 1e15));  // the answer may be of something else
  if (s < 60) return format("%.1f s", s);
  if (s < 3600) return format("%lld min %lld s", whole / 60, whole % 60);
  if (s < 86400) return format("%lld h %lld min", whole / 3600, whole / 60 % 60);
  return format("%lld d %lld h", whole / 86400, whole / 3600 % 24);
}

std::string counted(uint64_t n, const char* what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

}  // namespace

std::string status_text(const Snapshot& before, const Snapshot& now, const std::string& address) {
  const double t = now.uptime_s - before.uptime_s;
  Flow moved;
  double busiest = 0, busy = 0;
  for (size_t i = 0; i < now.lanes.size() && i < before.lanes.size(); ++i) {
    const LaneState &a = before.lanes[i], &b = now.lanes[i];
    moved.received += b.flow.received - a.flow.received;
    moved.sent += b.flow.sent - a.flow.sent;
    moved.reduced += b.flow.reduced - a.flow.reduced;
    const double used = t > 0 ? (b.cpu_s - a.cpu_s) / t : 0;
    busiest = std::max(busiest, used);
    busy += used;
  }
  uint64_t waiting = 0;
  const SessionState* longest = nullptr;
  for (const SessionState& s : now.sessions) {
    if (s.waiting_s <= 0 || s.waiting_s < now.stall_s) continue;
    ++waiting;
    if (!longest || s.waiting_s > longest->waiting_s) longest = &s;
  }
  std::string out = "fanin-reducer " + now.version + " at " + address + ": " +
                    (now.draining ? "draining" : "ready") + ", up " + span(now.uptime_s) + "\n";
  out += "sessions   " + std::to_string(now.sessions.size()) + " open, " + std::to_string(now.opened) +
         " opened, " + std::to_string(now.aborted) + " aborted; " + counted(now.connections, "connection") +
         "\n";
  out += "memory     " + size(now.memory_used) + " of " + size(now.memory) + " promised\n";
  out += "rates      receives " + rate(moved.received, t) + ", sends " + rate(moved.sent, t) + ", results " +
         rate(moved.reduced, t) + "\n";
  out += "lanes      " + std::to_string(now.lanes.size()) +
         format(", %.0f %% of a core each; the busiest %.0f %%\n",
                now.lanes.empty() ? 0 : 100 * busy / static_cast<double>(now.lanes.size()), 100 * busiest);
  out += "waiting    " +
         (longest ? counted(waiting, "session") + ", " + longest->name + " " + span(longest->waiting_s) +
                        " for " + longest->waiting_for
                  : std::string("none")) +
         "\n";
  return out;
}

std::string sessions_text(const Snapshot& before, const Snapshot& now) {
  const double t = now.uptime_s - before.uptime_s;
  std::map<uint64_t, const SessionState*> earlier;
  for (const SessionState& s : before.sessions) earlier[s.serial] = &s;
  const bool secrets =
      std::any_of(now.sessions.begin(), now.sessions.end(), [](auto& s) { return !s.secret.empty(); });
  std::string out = format("%-8s  %5s  %5s  %12s  %10s  %12s  %12s  %10s  ", "SESSION", "RANKS", "CONNS",
                           "AGE", "MEMORY", "RECEIVES", "SENDS", "MESSAGE");
  out += (secrets ? format("%-16s  ", "SECRET") : "") + "WAITS FOR\n";
  for (const SessionState& s : now.sessions) {
    const auto was = earlier.find(s.serial);
    const Flow from = was == earlier.end() ? s.flow : was->second->flow;
    out += format("%-8s  %5llu  %5llu  %12s  %10s  %12s  %12s  %10llu  ", s.name.substr(0, 8).c_str(),
                  static_cast<unsigned long long>(s.ranks), static_cast<unsigned long long>(s.connections),
                  span(s.age_s).c_str(), size(s.memory).c_str(),
                  rate(s.flow.received - from.received, t).c_str(), rate(s.flow.sent - from.sent, t).c_str(),
                  static_cast<unsigned long long>(s.message));
    if (secrets) out += format("%-16s  ", s.secret.empty() ? "-" : s.secret.c_str());
    if (!s.aborted.empty())
      out += "aborted: " + s.aborted;
    else if (s.waiting_s > 0 && s.waiting_s >= now.stall_s)
      out += span(s.waiting_s) + " for " + s.waiting_for;
    else
      out += "-";
    out += "\n";
  }
  return out;
}

}  // namespace fanin::ctl
