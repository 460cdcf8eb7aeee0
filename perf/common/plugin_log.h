// The logger handed to the plugin: what NCCL's own logger is to it in a job.
//
// Process-wide, thread-safe. Warnings are kept so that a failed call can say why; what is printed goes to
// stderr, a line each, in one write.
#pragma once
#include <string>

#include "nccl/types.h"

namespace fanin::perf {

// NCCL_LOG_WARN (default), NCCL_LOG_INFO, …; NCCL_LOG_NONE prints nothing. prefix, e.g. "rank 2: ", starts
// each line.
void set_plugin_log(int level, std::string prefix);

ncclDebugLogger_t plugin_logger();

// The newest warning since the start or the last clear; "" when there was none.
std::string last_plugin_warning();
// The newest line of any level.
std::string last_plugin_line();
// Every warning and INFO line since the start or the last clear, newest last, at most the newest 200.
std::string plugin_log_text();
void clear_plugin_log();

}  // namespace fanin::perf
