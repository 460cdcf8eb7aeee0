// The pool as this host sees it: where it is named, who is in it, whether each reducer takes this job, and whether the
// links suffice.
#pragma once
#include <chrono>
#include <string>

#include "perf/doctor/finding.h"
#include "plugin/options.h"

namespace fanin::doctor {

struct PoolQuestion {
  std::string plugin;       // path; "": it was not found, and reducers are only connected to
  unsigned workers = 0;     // nodes of the job; 0: not known
  double reducer_rate = 0;  // bits per second of a reducer's NICs; 0: not known
  std::chrono::milliseconds patience{3000};
};

// How many reducers the pool has; 0: it could not be resolved.
size_t check_pool(const plugin::Options& options, const PoolQuestion& question, Findings& findings);

}  // namespace fanin::doctor
