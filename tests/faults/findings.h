// What became of one run. Plain value.
#pragma once
#include <string>
#include <vector>

#include "tests/faults/scenario.h"
#include "tests/support/soon.h"
#include "transport/sanitizers.h"

namespace fanin::faults {

struct Findings {
  Scenario scenario;
  std::vector<std::string> bad;  // what must not be; empty: a good run
  bool struck = true;            // the fault had something to hit
  bool overran = false;          // a disturbance lasted longer than time-outs allow for: the machine was busy
  std::string end;               // of the surviving ranks: "right", "error", "ring", or "mixed"
  double noticed_s = 0;          // from the fault to the last survivor's end; errors only
  int errors = 0, named = 0;     // survivors with an error, and those whose error names the very victim
  std::string story;             // what everybody said

  // Not as it must be, for a disturbance that passes.
  bool lost() const { return end != "right" && !(overran && end == "error"); }
  void note(const std::string& what) {
    if (!what.empty()) bad.push_back(what);
  }
};

// Within which everybody has ended of a fault that is no silent one: test::kSoon on a loaded machine, without load this.
inline constexpr milliseconds kPromise{2000};
inline double seconds(milliseconds t) { return std::chrono::duration<double>(t).count(); }
inline constexpr milliseconds kStartPatience{20000};
// A disturbance may last so long: TCP's next attempt comes by twice that, before a reducer's time-out.
inline constexpr milliseconds kPasses{800};
// What a noticed fault takes; then the job is told to end
#ifdef FANIN_TSAN
inline constexpr milliseconds kAftermath{3000};  // exit() alone takes a second
#else
inline constexpr milliseconds kAftermath{300};
#endif

}  // namespace fanin::faults
