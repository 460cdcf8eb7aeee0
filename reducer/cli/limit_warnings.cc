#include "reducer/cli/limit_warnings.h"

#include "reducer/mib.h"

namespace fanin::reducer::cli {

std::vector<std::string> limit_warnings(const ReducerConfig& config, uint64_t usable) {
  std::vector<std::string> out;
  if (config.memory > usable)
    out.push_back(
        "--memory " + mib(config.memory) + " is more than this process may use (" + mib(usable) +
        "): sessions would be promised memory that is not there; lower it, or leave it out for half of that");
  const struct Part {
    const char* option;
    uint64_t limit;
    const char* whole_option;
    uint64_t whole;
  } parts[] = {
      {"--max-session-memory", config.max_session_memory, "--memory", config.memory},
      {"--max-job-memory", config.max_job_memory, "--memory", config.memory},
      {"--max-session-memory", config.max_session_memory, "--max-job-memory", config.max_job_memory}};
  for (const Part& p : parts)
    if (p.whole != 0 && p.limit > p.whole)
      out.push_back(std::string(p.option) + " " + mib(p.limit) + " is more than " + p.whole_option + " " +
                    mib(p.whole) + " and limits nothing");
  return out;
}

}  // namespace fanin::reducer::cli
