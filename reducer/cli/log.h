// Log lines of fanin-reducer: "2026-12-01T23:10:04.123Z fanin-reducer: text" on stderr, each by one write so
// that lines of several threads do not mix. Any thread.
//
// Never waits for whoever reads stderr: lanes log, too, and a log collector that stands still must not stop them. A line
// that is not taken at once is left out; the next one says how many were.
#pragma once
#include <string_view>

namespace fanin::reducer::cli {

void log_line(std::string_view text);

// For lines that others cause, as by opening sessions: 1000 in 10 s at most (reducer/line_budget.h).
void log_event(std::string_view text);

}  // namespace fanin::reducer::cli
