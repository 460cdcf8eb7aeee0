// Log lines of fanin-reducer: "2026-12-01T23:10:04.123Z fanin-reducer: text" on stderr, each by one write so
// that lines of several threads do not mix. Any thread.
#pragma once
#include <string_view>

namespace fanin::reducer::cli {

void log_line(std::string_view text);

}  // namespace fanin::reducer::cli
