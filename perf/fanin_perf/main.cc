// fanin-perf: see perf/fanin_perf/options.cc for what it does and --help for how.
#include <signal.h>

#include <cstdio>

#include "perf/fanin_perf/launch.h"
#include "perf/fanin_perf/options.h"

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  auto parsed = fanin::perf::parse_options(argc, argv);
  if (!parsed) {
    fprintf(stderr, "fanin-perf: %s\n", parsed.error().text().c_str());
    return 2;
  }
  if (parsed->exit_code) return *parsed->exit_code;
  return parsed->options.rank ? fanin::perf::run_single(parsed->options)
                              : fanin::perf::run_local(parsed->options);
}
