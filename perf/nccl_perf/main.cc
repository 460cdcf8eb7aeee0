// fanin-nccl-perf: NCCL's all_reduce, reduce_scatter and all_gather, timed and checked, in nccl-tests'
// format.
#include <signal.h>

#include <cstdio>
#include <cstdlib>

#include "perf/nccl_perf/nodes.h"
#include "perf/nccl_perf/options.h"
#include "perf/nccl_perf/placement.h"
#include "perf/nccl_perf/run.h"

int main(int argc, char** argv) {
  using namespace fanin::nccl_perf;
  signal(SIGPIPE, SIG_IGN);
  const ParsedOptions parsed = parse_options(argc, argv);
  if (!parsed.options) {
    fputs(parsed.message.c_str(), parsed.exit_code == kExitOk ? stdout : stderr);
    return parsed.exit_code;
  }
  const Options& options = *parsed.options;
  if (options.nodes > 0) return run_nodes(options);
  const auto placement =
      find_placement([](const char* name) -> const char* { return getenv(name); }, options.rendezvous);
  if (!placement) {
    fprintf(stderr, "fanin-nccl-perf: %s\n", placement.error().text().c_str());
    return kExitUsage;
  }
  return run_process(options, placement->value_or(Placement()), fanin::Fd(), false, false);
}
