// The process limits a job has here.
#pragma once
#include <sys/resource.h>

#include <cstddef>
#include <string>

#include "perf/doctor/finding.h"

namespace fanin::doctor {

// Soft limits; RLIM_INFINITY: none.
struct ProcessLimits {
  rlim_t files = RLIM_INFINITY, locked_memory = RLIM_INFINITY;
  static ProcessLimits here();
};

// rdma_devices: the folder that has an entry per RDMA device of the host; it may be missing.
void check_limits(const ProcessLimits& limits, size_t reducers, Findings& findings,
                  const std::string& rdma_devices = "/sys/class/infiniband");

}  // namespace fanin::doctor
