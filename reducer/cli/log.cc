#include "reducer/cli/log.h"

#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace fanin::reducer::cli {

void log_line(std::string_view text) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  tm utc{};
  gmtime_r(&now.tv_sec, &utc);
  char day[32], line[64];
  strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &utc);
  snprintf(line, sizeof line, "%s.%03dZ fanin-reducer: ", day, static_cast<int>(now.tv_nsec / 1000000));
  std::string out = line;
  out.append(text).push_back('\n');
  [[maybe_unused]] ssize_t n = ::write(STDERR_FILENO, out.data(), out.size());
}

}  // namespace fanin::reducer::cli
