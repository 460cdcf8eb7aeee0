#include "plugin/log.h"

#include <atomic>
#include <cstdarg>
#include <cstdio>

namespace fanin::plugin {
namespace {
std::atomic<ncclDebugLogger_t> g_logger{nullptr};
}

void set_logger(ncclDebugLogger_t logger) { g_logger.store(logger, std::memory_order_release); }

void log_at(int level, unsigned long subsystems, const char* file, int line, const char* fmt, ...) {
  char text[1024];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  if (ncclDebugLogger_t logger = g_logger.load(std::memory_order_acquire))
    logger(level, subsystems, file, line, "NET/fanin : %s", text);
  else if (level <= NCCL_LOG_WARN)
    fprintf(stderr, "NET/fanin : %s\n", text);
}

void log_error(const char* doing, const Error& error) {
  log_at(NCCL_LOG_WARN, ~0ul, error.where().file, error.where().line, "%s: %s", doing, error.text().c_str());
}

}  // namespace fanin::plugin
