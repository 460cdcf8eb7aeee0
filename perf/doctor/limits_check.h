// The process limits a job has here.
#pragma once
#include <cstddef>

#include "perf/doctor/finding.h"

namespace fanin::doctor {

void check_limits(size_t reducers, Findings& findings);

}  // namespace fanin::doctor
