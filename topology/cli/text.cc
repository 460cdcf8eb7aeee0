#include "topology/cli/text.h"

#include <cstdarg>
#include <cstdio>

namespace fanin::topo {

std::string format(const char* fmt, ...) {
  char line[1024];
  va_list args;
  va_start(args, fmt);
  vsnprintf(line, sizeof line, fmt, args);
  va_end(args);
  return line;
}

std::string bytes_text(double bytes) {
  const char* unit = "bytes";
  for (const char* next : {"KiB", "MiB", "GiB", "TiB"}) {
    if (bytes < 1024) break;
    bytes /= 1024;
    unit = next;
  }
  return format("%.4g %s", bytes, unit);
}

std::string time_text(double seconds) {
  if (seconds < 1e-3) return format("%.3g us", seconds * 1e6);
  if (seconds < 1) return format("%.3g ms", seconds * 1e3);
  return format("%.4g s", seconds);
}

}  // namespace fanin::topo
