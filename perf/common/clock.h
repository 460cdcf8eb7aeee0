// A clock of POSIX in seconds. CLOCK_MONOTONIC is one for all processes of a machine. Any thread.
#pragma once
#include <time.h>

namespace fanin::perf {

inline double seconds(clockid_t clock = CLOCK_MONOTONIC) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace fanin::perf
