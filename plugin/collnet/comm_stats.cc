#include "plugin/collnet/comm_stats.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "fanin/json.h"
#include "fanin/version.h"

namespace fanin::plugin::collnet {
namespace {

uint64_t shared(const CommStats& s) {
  return std::accumulate(s.reducers.begin(), s.reducers.end(), uint64_t{0},
                         [](uint64_t n, const CommStats::Reducer& r) { return n + r.last; });
}

double us(std::chrono::nanoseconds t) { return static_cast<double>(t.count()) * 1e-3; }

std::string time_text(std::chrono::nanoseconds t) {
  const auto v = static_cast<double>(t.count());
  char text[32];
  if (v < 1e6)
    snprintf(text, sizeof text, "%.0f us", v * 1e-3);
  else if (v < 1e9)
    snprintf(text, sizeof text, "%.2f ms", v * 1e-6);
  else
    snprintf(text, sizeof text, "%.2f s", v * 1e-9);
  return text;
}

}  // namespace

const CommStats::Reducer* CommStats::slowest() const {
  const auto most = std::max_element(reducers.begin(), reducers.end(),
                                     [](const Reducer& a, const Reducer& b) { return a.last < b.last; });
  return reducers.size() < 2 || most->last == 0 ? nullptr : &*most;
}

std::string summary_of(const CommStats& s) {
  std::string out = std::to_string(s.messages) + " messages, " + std::to_string(s.bytes) + " bytes";
  if (s.completed > 0)
    out += ", mean " + time_text(s.mean) + ", p99 " + time_text(s.p99) + ", longest " + time_text(s.most);
  if (const CommStats::Reducer* r = s.slowest()) {
    char share[32];
    snprintf(share, sizeof share, "%.0f %%",
             100.0 * static_cast<double>(r->last) / static_cast<double>(shared(s)));
    out += "; slowest reducer " + r->name + " (last in " + share + " of those on several lanes)";
  }
  if (s.completed < s.messages) out += " (not all of them completed)";
  return out;
}

std::string json_of(const CommStats& s, double when, const std::string& host, int pid) {
  Json j;
  char time[40];
  snprintf(time, sizeof time, "%.3f", when);
  j.open('{').key("time").number(time).key("version").value(kFaninVersion);
  j.key("host").value(host).key("pid").value(pid).key("session").value(s.session);
  j.key("rank").value(s.rank).key("nranks").value(s.nranks);
  j.key("life_seconds").value(static_cast<double>(s.life.count()) * 1e-9);
  j.key("messages").value(s.messages).key("completed").value(s.completed).key("bytes").value(s.bytes);
  j.key("mean_us").value(us(s.mean)).key("p50_us").value(us(s.p50));
  j.key("p99_us").value(us(s.p99)).key("max_us").value(us(s.most));
  j.key("reducers").open('[');
  for (const CommStats::Reducer& r : s.reducers)
    j.open('{').key("name").value(r.name).key("lanes").value(r.lanes).key("last").value(r.last).close('}');
  j.close(']').key("failure").value(s.failure).close('}');
  return j.text() + "\n";
}

}  // namespace fanin::plugin::collnet
