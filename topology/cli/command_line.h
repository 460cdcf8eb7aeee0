// fanin-topo's command line. Start-up only; pure.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fanin/error.h"
#include "topology/cli/plan.h"

namespace fanin::topo {

struct CommandLine {
  // Set for --help and --version: print it and end.
  std::optional<std::string> print;
  enum class Command { kPlan, kShow, kCheck } command = Command::kPlan;
  bool json = false;
  PlanQuestion plan;                          // kPlan
  std::map<std::string, std::string> values;  // kCheck: of plan's options, to be completed by ask_job()
  std::string svg;                            // kPlan: file to write the chart to, or ""
  std::string xml;                            // kShow: an exported host, or "" for this one
};

// args without the program's name. Errors are one line (kInvalidUsage).
Result<CommandLine> read_command_line(const std::vector<std::string>& args);

}  // namespace fanin::topo
