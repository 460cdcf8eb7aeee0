// fanin-doctor: run in a job's container with the job's environment; says what would become of the reducers there.
// Exit codes: 0 they would be used, 1 they would not, 2 wrong usage.
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "fanin/options.h"
#include "fanin/version.h"
#include "perf/common/plugin_log.h"
#include "perf/doctor/finding.h"
#include "perf/doctor/limits_check.h"
#include "perf/doctor/nccl_library.h"
#include "perf/doctor/plugin_library.h"
#include "perf/doctor/pool_check.h"
#include "perf/doctor/settings_check.h"
#include "perf/doctor/variables.h"
#include "plugin/log.h"
#include "plugin/options.h"
#include "topology/rate.h"

namespace {

using namespace fanin;
using namespace fanin::doctor;

struct Question {
  std::string nccl;
  unsigned workers = 0;
  std::string reducer_bw;
  int patience_ms = 3000;
  bool json = false;
};

// The job's number of nodes as its launcher says it; 0: it does not.
unsigned nodes_of(const Variables& variables) {
  for (const char* name : {"SLURM_JOB_NUM_NODES", "PET_NNODES", "GROUP_WORLD_SIZE"})
    if (auto nodes = parse_int(variables.value(name), 2, 4096)) return static_cast<unsigned>(*nodes);
  auto world = parse_int(variables.value("WORLD_SIZE"), 2, 1 << 20);
  auto local = parse_int(variables.value("LOCAL_WORLD_SIZE"), 1, 1 << 10);
  return world && local && *world > *local ? static_cast<unsigned>(*world / *local) : 0;
}

Findings examine(const Question& question, double reducer_rate) {
  Findings findings;
  const Variables variables(environ, nccl_files());
  variables.apply();
  for (const std::string& why : variables.unread())
    findings.fail("settings", why,
                  "NCCL reads it as a file of NAME=value lines: make it one, or unset NCCL_CONF_FILE");
  // What the plugin itself would warn about: misspelt names, bad values.
  perf::set_plugin_log(NCCL_LOG_NONE, "");
  plugin::set_logger(perf::plugin_logger());
  const plugin::Options options = plugin::read_options();
  for (std::string text = perf::plugin_log_text(); !text.empty();) {
    size_t end = std::min(text.find('\n'), text.size());
    findings.warn("options", text.substr(0, end), "see docs/options.md");
    text.erase(0, end + 1);
  }
  const unsigned workers = question.workers ? question.workers : nodes_of(variables);

  PoolQuestion pool{"", workers, reducer_rate, std::chrono::milliseconds(question.patience_ms)};
  if (auto nccl = find_nccl(question.nccl, findings)) {
    const GetEnv env_plugin = find_env_plugin(*nccl, variables);
    pool.plugin = find_plugin(*nccl, variables, env_plugin, findings);
    check_collnet(*nccl, variables, env_plugin,
                  !options.pool.spec.empty() && options.collnet && !pool.plugin.empty(), findings);
    check_conflicts(*nccl, variables, workers, options.tuner, findings);
    if (options.tuner && nccl->at_least(2, 21)) check_rules(options.tuner_file, findings);
  }
  const size_t reducers = std::max<size_t>(check_pool(options, pool, findings), 1);
  check_limits(ProcessLimits::here(), reducers, findings);
  return findings;
}

}  // namespace

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  Question question;
  CLI::App app(
      "fanin-doctor: run it in a job's container with the job's environment. Each line is OK, WARN or FAIL, "
      "with what to do;\n"
      "exit code 0 means the reducers would be used.",
      "fanin-doctor");
  app.set_version_flag("--version", std::string("fanin-doctor ") + kFaninVersion);
  app.add_option("--nccl", question.nccl,
                 "The libnccl.so.2 of the job (default: what this environment loads)");
  app.add_option("--workers", question.workers, "Nodes of the job (default: what Slurm or torchrun say)")
      ->check(CLI::Range(2, 4096));
  app.add_option("--reducer-bw", question.reducer_bw,
                 "Bandwidth of one reducer's NICs, one way: 32G; judges the pool's size");
  app.add_option("--timeout-ms", question.patience_ms, "How long a reducer may take to answer")
      ->check(CLI::Range(100, 600000))
      ->capture_default_str();
  app.add_flag("--json", question.json, "One JSON document instead of lines");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  double rate = 0;
  if (!question.reducer_bw.empty()) {
    auto parsed = parse_rate(question.reducer_bw);
    if (!parsed) {
      fprintf(stderr, "fanin-doctor: --reducer-bw: %s\n", parsed.error().text().c_str());
      return 2;
    }
    rate = *parsed;
  }
  const Findings findings = examine(question, rate);
  fputs((question.json ? findings.json() : findings.text()).c_str(), stdout);
  if (fflush(stdout) != 0) return 2;
  return findings.failed() ? 1 : 0;
}
