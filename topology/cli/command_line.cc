#include "topology/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "fanin/version.h"
#include "topology/cli/plan_options.h"

namespace fanin::topo {
namespace {

Error usage(const std::string& text) { return Error(Errc::kInvalidUsage, printable(text)); }

// "--worker" -> "; did you mean --workers?"
std::string nearest_flag(std::string name) {
  name.erase(0, name.find_first_not_of('-'));
  if (size_t end = name.find('='); end != std::string::npos) name.resize(end);
  const std::string nearest = nearest_option(kPlanOptions, name);
  return nearest.empty() ? "; see fanin-topo --help" : "; did you mean --" + nearest + "?";
}

std::string first_line(std::string text) { return text.substr(0, text.find('\n')); }

void add_option(CLI::App& app, const OptionSpec& o, std::string& value) {
  value = o.fallback;
  app.add_option(std::string("--") + o.name, value, o.help)
      ->default_str(o.fallback)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

}  // namespace

Result<CommandLine> read_command_line(const std::vector<std::string>& args) {
  CommandLine out;
  const std::string version = std::string("fanin-topo ") + kFaninVersion;
  CLI::App app("fanin-topo: how many reducers a job needs, and whether they are placed well.", "fanin-topo");
  app.set_version_flag("--version", version);
  app.require_subcommand(0, 1);
  app.footer("Each command has its own --help.");

  CLI::App* plan = app.add_subcommand("plan", "How many reducers some workers need, and what they gain.");
  std::map<std::string, std::string> values;
  for (const OptionSpec& o : kPlanOptions) add_option(*plan, o, values[o.name]);
  CLI::App* check = app.add_subcommand(
      "check", "From inside a job: its pool against its workers. Ends with 1 when the ring would be faster.");
  std::map<std::string, std::string> job;
  for (const OptionSpec& o : kPlanOptions) add_option(*check, o, job[o.name]);
  check->add_flag("--json", out.json, "Print everything as one JSON document.");
  check->footer(
      "--reducers comes from FANIN_REDUCERS, CLUSTER_SPEC or TF_CONFIG, --worker-bw from this host's NICs, "
      "--workers "
      "from Slurm, where they are not given.");
  plan->add_flag("--json", out.json, "Print everything as one JSON document.");
  plan->add_option("--svg", out.svg, "Write a chart of bandwidth against reducers into this file.")
      ->type_name("FILE");
  plan->footer("Rates are in bits per second and powers of 1000, sizes in bytes and powers of 1024.");

  CLI::App* show =
      app.add_subcommand("show", "This host: NUMA nodes, cores, NICs, GPUs, and which NIC each GPU uses.");
  show->add_flag("--json", out.json, "Print it as one JSON document.");
  show->add_option("--xml", out.xml, "Another host, exported with lstopo --of xml.")->type_name("FILE");

  std::vector<std::string> all(args.rbegin(), args.rend());  // CLI11 takes them from the back
  try {
    app.parse(all);
  } catch (const CLI::CallForHelp&) {
    out.print = app.help();  // a chosen command's own
    return out;
  } catch (const CLI::CallForVersion&) {
    out.print = version + "\n";
    return out;
  } catch (const CLI::ExtrasError&) {
    const std::vector<std::string> rest = app.remaining(true);
    const std::string what = rest.empty() ? "?" : rest.front();
    if (app.get_subcommands().empty() && what[0] != '-')
      return usage("unknown command " + fanin::quoted(what) + "; there are plan, check and show");
    return usage("unknown argument " + fanin::quoted(what) + nearest_flag(what));
  } catch (const CLI::Error& e) {
    return usage(first_line(e.what()) + "; see fanin-topo --help");
  }
  if (app.get_subcommands().empty()) return usage("no command; there are plan, check and show (see --help)");
  if (show->parsed()) {
    out.command = CommandLine::Command::kShow;
    return out;
  }
  if (check->parsed()) {
    out.command = CommandLine::Command::kCheck;
    out.values = std::move(job);
    return out;
  }
  Result<PlanQuestion> question = plan_question(values);
  if (!question) return usage(question.error().text());
  out.plan = *question;
  return out;
}

}  // namespace fanin::topo
