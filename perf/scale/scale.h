// Many workers in one process against one reducer, through the plugin's C ABI: how long connecting takes, what the reducer's
// memory becomes, how fast it sums.
//
// workers × rails communicators, a session per rail, as a job of `workers` hosts with `rails` GPUs and NICs each makes them.
// Each communicator is connected by a thread of its own, all at once; then each worker has one progress thread for all
// its rails.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "fanin/error.h"

namespace fanin::perf {

struct ScaleOptions {
  size_t workers = 4, rails = 1;
  size_t bytes = 256 << 10;   // of a message
  int iters = 8, warmup = 1;  // messages per communicator
  bool late = false;    // rank 0 of each session comes late: every other rank has filled its window by then
  int reducer_pid = 0;  // whose memory is read; 0: nobody's
  std::string plugin;
};

struct ScaleResult {
  double connect_s = 0;  // from the first listen to the last connect's return
  double elapsed_s = 0;  // of the timed messages
  uint64_t wrong = 0;    // elements of the last result on any rank
  // Of the reducer, in bytes: before the first connection, with all communicators connected, at its highest.
  size_t rss_before = 0, rss_connected = 0, rss_peak = 0;
};

Result<ScaleResult> run_scale(const ScaleOptions& options);

}  // namespace fanin::perf
