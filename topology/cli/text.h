// printf into a string, for reports.
#pragma once
#include <string>

namespace fanin::topo {

[[gnu::format(printf, 1, 2)]] std::string format(const char* fmt, ...);
// "3.2 MiB"
std::string bytes_text(double bytes);
// "137 ms"
std::string time_text(double seconds);

}  // namespace fanin::topo
