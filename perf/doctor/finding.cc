#include "perf/doctor/finding.h"

#include <algorithm>

#include "fanin/error.h"
#include "fanin/json.h"

namespace fanin::doctor {
namespace {

// A value of the environment may hold line ends and what terminals obey.
std::string one_line(const std::string& text) { return printable(text, text.size()); }

const char* name(Level level) { return level == Level::kOk ? "OK" : level == Level::kWarn ? "WARN" : "FAIL"; }

}  // namespace

bool Findings::failed() const {
  return std::any_of(all_.begin(), all_.end(), [](const Finding& f) { return f.level == Level::kFail; });
}

std::string Findings::text() const {
  std::string out;
  for (const Finding& f : all_) {
    std::string level = name(f.level);
    level.resize(5, ' ');
    out += level + one_line(f.topic + ": " + f.text) + "\n";
    if (!f.fix.empty()) out += "     -> " + one_line(f.fix) + "\n";
  }
  return out + (failed() ? "The reducers would NOT be used.\n" : "The reducers would be used.\n");
}

std::string Findings::json() const {
  Json j;
  j.open('{').key("usable").value(!failed()).key("findings").open('[');
  for (const Finding& f : all_) {
    j.open('{').key("level").value(name(f.level)).key("topic").value(f.topic).key("text").value(f.text);
    j.key("fix").value(f.fix).close('}');
  }
  return j.close(']').close('}').text() + "\n";
}

}  // namespace fanin::doctor
