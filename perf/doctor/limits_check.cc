#include "perf/doctor/limits_check.h"

#include <filesystem>
#include <string>
#include <system_error>

namespace fanin::doctor {
namespace {

std::string limit_text(rlim_t limit) { return limit == RLIM_INFINITY ? "unlimited" : std::to_string(limit); }

rlim_t soft(int resource) {
  rlimit limit{};
  return getrlimit(static_cast<__rlimit_resource>(resource), &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

}  // namespace

ProcessLimits ProcessLimits::here() { return {soft(RLIMIT_NOFILE), soft(RLIMIT_MEMLOCK)}; }

void check_limits(const ProcessLimits& limits, size_t reducers, Findings& findings,
                  const std::string& rdma_devices) {
  // A communicator holds a connection per lane of each reducer, a program some communicators, NCCL and the framework
  // hundreds of descriptors.
  constexpr size_t kLanes = 16, kCommunicators = 4, kOthers = 512;
  const rlim_t need = reducers * kLanes * kCommunicators + kOthers;
  const rlim_t files = limits.files;
  if (files < need)
    findings.warn("descriptors",
                  "ulimit -n is " + limit_text(files) + "; a pool of " + std::to_string(reducers) +
                      " reducers may take " + std::to_string(need),
                  "raise it: ulimit -n 65536, LimitNOFILE= or the container's ulimits");
  else
    findings.ok("descriptors", "ulimit -n is " + limit_text(files));
  // fanin's sockets pin nothing. A job that also has RDMA devices may use them for what stays with NCCL.
  const rlim_t locked = limits.locked_memory;
  const std::string text =
      "ulimit -l is " + (locked == RLIM_INFINITY ? "unlimited" : limit_text(locked / 1024) + " KiB");
  constexpr rlim_t kSmall = 64 << 20;
  std::error_code error;
  if (locked < kSmall && !std::filesystem::is_empty(rdma_devices, error) && !error)
    findings.warn("memlock", text + ", and this host has RDMA devices",
                  "ulimit -l unlimited, or NCCL_IB_DISABLE=1");
  else
    findings.ok("memlock", text);
}

}  // namespace fanin::doctor
