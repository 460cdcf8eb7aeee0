// fanin-topo: what reducers a job needs and how well they fit (cli/). Exit codes: 0 done, 1 failed, 2 wrong usage.
#include <cerrno>
#include <cstdio>
#include <fstream>

#include "topology/cli/command_line.h"
#include "topology/cli/job.h"
#include "topology/cli/plan_options.h"
#include "topology/cli/show.h"
#include "topology/host/read_host.h"

namespace fanin::topo {
namespace {

Status write_file(const std::string& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) return system_error("cannot write " + fanin::quoted(path), errno != 0 ? errno : EIO);
  return {};
}

Status show(const CommandLine& line) {
  Result<HostView> host = read_host(linked_hwloc(), line.xml);
  if (!host) return host.error();
  fputs((line.json ? show_json(*host) : show_text(*host)).c_str(), stdout);
  return {};
}

// The exit code.
Result<int> check(CommandLine& line) {
  Result<std::string> said = ask_job(line.values);
  if (!said) return said.error();
  Result<PlanQuestion> question = plan_question(line.values);
  if (!question) return question.error();
  const PlanAnswer answer = plan(*question);
  fputs((line.json ? plan_json(answer) : *said + plan_text(answer)).c_str(), stdout);
  return answer.fit().loses() ? 1 : 0;
}

Status run(const CommandLine& line) {
  if (line.command == CommandLine::Command::kShow) return show(line);
  const PlanAnswer answer = plan(line.plan);
  fputs((line.json ? plan_json(answer) : plan_text(answer)).c_str(), stdout);
  return line.svg.empty() ? Status() : write_file(line.svg, plan_svg(answer));
}

int run(const std::vector<std::string>& args) {
  auto fail = [](const Error& e, int code) {
    fprintf(stderr, "fanin-topo: %s\n", e.text().c_str());
    return code;
  };
  Result<CommandLine> line = read_command_line(args);
  if (!line) return fail(line.error(), 2);
  int code = 0;
  if (line->print)
    fputs(line->print->c_str(), stdout);
  else if (line->command == CommandLine::Command::kCheck) {
    Result<int> answer = check(*line);
    if (!answer) return fail(answer.error(), answer.error().code() == Errc::kInvalidUsage ? 2 : 1);
    code = *answer;
  } else if (Status s = run(*line); !s)
    return fail(s.error(), 1);
  if (fflush(stdout) != 0) return fail(system_error("cannot write to stdout", errno), 1);
  return code;
}

}  // namespace
}  // namespace fanin::topo

int main(int argc, char** argv) { return fanin::topo::run({argv + 1, argv + argc}); }
