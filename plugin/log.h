// Logging through NCCL's logger. WARN only when a person must act; INFO for the one line per communicator.
//
// The logger is set by every init call and is one word; logging is safe from any thread. Before any init, and
// in tests without a logger, warnings go to stderr. Messages are one line, at most 1 KiB.
#pragma once
#include <string>

#include "fanin/error.h"
#include "nccl/types.h"

namespace fanin::plugin {

void set_logger(ncclDebugLogger_t logger);

[[gnu::format(printf, 5, 6)]] void log_at(int level, unsigned long subsystems, const char* file, int line,
                                          const char* fmt, ...);

// Logs an error once, where it is handled, as a warning of all subsystems, like NCCL's own: by default NCCL shows INIT,
// BOOTSTRAP and ENV only, also of warnings.
void log_error(const char* doing, const Error& error);

}  // namespace fanin::plugin

#define FANIN_WARN(...) ::fanin::plugin::log_at(NCCL_LOG_WARN, ~0ul, __FILE__, __LINE__, __VA_ARGS__)
#define FANIN_INFO(subsys, ...) \
  ::fanin::plugin::log_at(NCCL_LOG_INFO, subsys, __FILE__, __LINE__, __VA_ARGS__)
