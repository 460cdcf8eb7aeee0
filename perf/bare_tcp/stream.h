// Source and sink processes on loopback, a blocking send() or recv() of one chunk after the other and nothing else.
#pragma once
#include <cstddef>

#include "fanin/error.h"

namespace fanin::perf {

struct StreamOptions {
  int pairs = 1;
  size_t bytes = 256 << 20, buffer = 64 << 20, chunk = 64 << 10;
};

// Forks 2 × pairs processes and waits for them. Prints CPU seconds and system calls of all sources and of all sinks, and
// the time from start to end.
Status run_stream(const StreamOptions& options);

}  // namespace fanin::perf
