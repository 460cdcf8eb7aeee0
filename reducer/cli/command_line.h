// fanin-reducer's command line, environment and configuration file, read into Settings.
#pragma once
#include <optional>
#include <span>
#include <string>

#include "reducer/cli/settings.h"

namespace fanin::reducer::cli {

struct CommandLine {
  Settings settings;
  std::string secret;                // FANIN_SECRET; no setting, so that nothing prints it
  uint16_t own_port = kDefaultPort;  // what --listen auto means here
  // Set for --help, --version and --print-config: print it and end.
  std::optional<std::string> print;
  std::vector<std::string> warnings;
};

// args without the program's name; environment as "NAME=value". Errors are one line (kInvalidUsage).
Result<CommandLine> read_command_line(const std::vector<std::string>& args,
                                      std::span<const std::string> environment);

}  // namespace fanin::reducer::cli
