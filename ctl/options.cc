#include "ctl/options.h"

#include <CLI/CLI.hpp>

#include "fanin/version.h"

namespace fanin::ctl {

Result<Parsed> parse_options(int argc, char** argv) {
  Parsed out;
  Options& o = out.options;
  CLI::App app(
      "fanin-ctl: asks a reducer what it is doing, and drains it. HOST:PORT is that of its --metrics, which "
      "its "
      "log says (status at http://...).",
      "fanin-ctl");
  app.set_version_flag("--version", std::string("fanin-ctl ") + kFaninVersion);
  app.require_subcommand(1);
  app.fallthrough();
  app.add_option("--timeout", o.timeout_s, "Seconds to wait for an answer")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  CLI::App* status = app.add_subcommand("status", "The reducer in a few lines, with rates over a second.");
  CLI::App* sessions =
      app.add_subcommand("sessions", "A line for each session: ranks, rates, who is waited for.");
  CLI::App* drain =
      app.add_subcommand("drain", "No new sessions; the reducer ends when its running ones have.");
  for (CLI::App* c : {status, sessions, drain})
    c->add_option("address", o.address, "HOST:PORT of --metrics")->required();
  for (CLI::App* c : {status, sessions}) c->add_flag("--json", o.json, "What /sessions says, once");
  drain->add_option("--secret-file", o.secret_file, "The secret in the reducer's --admin-secret-file")
      ->required();
  drain->add_option("--wait", o.wait_s, "Wait so many seconds for the reducer to end")
      ->check(CLI::Range(0, 31536000));
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    out.exit_code = app.exit(e);
    return out;
  } catch (const CLI::Error& e) {
    const std::string text = e.what();
    return Error(Errc::kInvalidUsage, printable(text.substr(0, text.find('\n'))) + "; see --help");
  }
  o.command = *drain ? Command::kDrain : *sessions ? Command::kSessions : Command::kStatus;
  return out;
}

}  // namespace fanin::ctl
