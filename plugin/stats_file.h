// FANIN_STATS_FILE: a line for each communicator, appended by as many processes as there are.
//
// Each line is one write to a descriptor opened for appending, so lines of several processes on one host do not mix; on
// network file systems, which do not promise that, the name should have %h and %p. Any thread.
#pragma once
#include <string>
#include <string_view>

#include "fanin/error.h"

namespace fanin::plugin {

// %h becomes the host, %p the process, %% a %.
std::string stats_path(std::string_view pattern, const std::string& host, int pid);

// Never waits for a reader: of a pipe that has none it is an error.
Status append_line(const std::string& path, std::string_view line);

}  // namespace fanin::plugin
