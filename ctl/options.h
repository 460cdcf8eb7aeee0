// fanin-ctl's command line.
#pragma once
#include <optional>
#include <string>

#include "fanin/error.h"

namespace fanin::ctl {

enum class Command { kStatus, kSessions, kDrain };

struct Options {
  Command command = Command::kStatus;
  std::string address;      // HOST:PORT of --metrics
  std::string secret_file;  // drain
  bool json = false;        // status, sessions
  int wait_s = 0;           // drain: for the reducer to end
  int timeout_s = 5;        // for each answer
};

struct Parsed {
  Options options;
  std::optional<int> exit_code;  // set: help or version was printed
};
Result<Parsed> parse_options(int argc, char** argv);

}  // namespace fanin::ctl
