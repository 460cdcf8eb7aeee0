// What this process uses of its host, from /proc and getrusage; zero where the kernel does not say. Any thread.
#pragma once
#include <cstdint>

namespace fanin::reducer::metrics {

struct ProcessUsage {
  double cpu_seconds = 0;
  uint64_t resident_bytes = 0, open_files = 0, max_files = 0;
};
ProcessUsage process_usage();

}  // namespace fanin::reducer::metrics
