#include "perf/common/plugin_log.h"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <deque>
#include <mutex>

namespace fanin::perf {
namespace {

struct Log {
  std::mutex mutex;
  int level = NCCL_LOG_WARN;
  std::string prefix;
  std::string last_warning;
  std::deque<std::string> lines;
};

Log& log() {
  static Log* const l = new Log;  // never destroyed: plugin threads may log while the process exits
  return *l;
}

[[gnu::format(printf, 5, 6)]] void logger(int level, unsigned long, const char*, int, const char* fmt, ...) {
  char text[2048];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  Log& l = log();
  std::lock_guard lock(l.mutex);
  if (level == NCCL_LOG_WARN) l.last_warning = text;
  if (level == NCCL_LOG_WARN || level == NCCL_LOG_INFO) {
    l.lines.emplace_back(text);
    if (l.lines.size() > 200) l.lines.pop_front();
  }
  if (level > l.level) return;
  std::string line = l.prefix + (level == NCCL_LOG_WARN ? "WARN " : "") + text + "\n";
  [[maybe_unused]] ssize_t n = ::write(2, line.data(), line.size());
}

}  // namespace

void set_plugin_log(int level, std::string prefix) {
  std::lock_guard lock(log().mutex);
  log().level = level;
  log().prefix = std::move(prefix);
}

ncclDebugLogger_t plugin_logger() { return logger; }

std::string last_plugin_warning() {
  std::lock_guard lock(log().mutex);
  return log().last_warning;
}

std::string last_plugin_line() {
  std::lock_guard lock(log().mutex);
  return log().lines.empty() ? "" : log().lines.back();
}

std::string plugin_log_text() {
  std::lock_guard lock(log().mutex);
  std::string all;
  for (const std::string& line : log().lines) all += line + "\n";
  return all;
}

void clear_plugin_log() {
  std::lock_guard lock(log().mutex);
  log().last_warning.clear();
  log().lines.clear();
}

}  // namespace fanin::perf
