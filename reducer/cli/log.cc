#include "reducer/cli/log.h"

#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <mutex>
#include <string>

#include "reducer/line_budget.h"

namespace fanin::reducer::cli {
namespace {

// Without destructors: threads may log while the process exits.
constinit std::mutex g_mutex;
constinit uint64_t g_lost = 0;  // lines that stderr did not take
constinit LineBudget g_budget(std::chrono::seconds(10), 1000);

std::string bytes_of(std::string_view text) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  tm utc{};
  gmtime_r(&now.tv_sec, &utc);
  char day[32], line[64];
  strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &utc);
  snprintf(line, sizeof line, "%s.%03dZ fanin-reducer: ", day, static_cast<int>(now.tv_nsec / 1000000));
  std::string out = line;
  // What a pipe takes whole or not at all, and without waiting once poll() says that there is room.
  out.append(text.substr(0, PIPE_BUF - 1 - out.size())).push_back('\n');
  return out;
}

// False: it was not taken. The mutex keeps other threads from the room that was seen.
bool put(const std::string& line) {
  pollfd p{STDERR_FILENO, POLLOUT, 0};
  // A poll that fails says nothing of the room (it does when the limit on descriptors falls to zero).
  return ::poll(&p, 1, 0) != 0 && ::write(STDERR_FILENO, line.data(), line.size()) > 0;
}

}  // namespace

void log_line(std::string_view text) {
  const std::string line = bytes_of(text);
  std::lock_guard lock(g_mutex);
  if (g_lost > 0 && put(bytes_of(std::to_string(g_lost) +
                                 " lines were left out: whoever reads this log did not take them")))
    g_lost = 0;
  if (g_lost > 0 || !put(line)) ++g_lost;
}

void log_event(std::string_view text) {
  std::optional<uint64_t> before;
  {
    std::lock_guard lock(g_mutex);
    before = g_budget.line(Deadline::Clock::now());
  }
  if (!before) return;
  if (*before == 0) return log_line(text);
  log_line(std::string(text) + " (" + std::to_string(*before) + " lines before this one were left out)");
}

}  // namespace fanin::reducer::cli
