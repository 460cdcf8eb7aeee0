// fanin-reducer: reads its settings (cli/command_line.h) and serves (cli/serve.h). Exit codes: 0 ended or
// drained, 1 failed, 2 wrong usage.
#include <unistd.h>

#include <cstdio>

#include "reducer/cli/command_line.h"
#include "reducer/cli/host_limits.h"
#include "reducer/cli/limit_warnings.h"
#include "reducer/cli/log.h"
#include "reducer/cli/place.h"
#include "reducer/cli/serve.h"

int main(int argc, char** argv) {
  using namespace fanin;
  using namespace fanin::reducer::cli;
  std::vector<std::string> environment;
  for (char** e = environ; *e; ++e) environment.emplace_back(*e);
  Result<CommandLine> line = read_command_line({argv + 1, argv + argc}, environment);
  if (!line) {
    fprintf(stderr, "fanin-reducer: %s\n", line.error().text().c_str());
    return kExitUsage;
  }
  if (line->print) {
    fputs(line->print->c_str(), stdout);
    return fflush(stdout) == 0 ? 0 : kExitFailure;
  }
  for (const std::string& w : line->warnings) log_line("warning: " + w);
  Result<ServeConfig> config = interpret(line->settings, line->secret, line->own_port);
  if (!config) {
    fprintf(stderr, "fanin-reducer: %s\n", config.error().text().c_str());
    return kExitUsage;
  }
  for (const std::string& w : limit_warnings(config->reducer, usable_memory())) log_line("warning: " + w);
  place(*config, linked_hwloc());
  return serve(*std::move(config));
}
