#include "reducer/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <map>

#include "fanin/version.h"
#include "topology/discovery.h"

namespace fanin::reducer::cli {
namespace {

constexpr std::string_view kPrefix = "FANIN_REDUCER_";
constexpr const char* kSyntax = "; --print-config shows the options and the syntax";

// The text holds what the user wrote, and what CLI11 makes of it.
Error usage(const std::string& text) { return Error(Errc::kInvalidUsage, printable(text)); }

std::string suggest(const std::string& nearest) {
  return nearest.empty() ? "" : "; did you mean " + nearest + "?";
}

// "lane" -> "did you mean --lanes"; --config and the like are not in the table but may be meant.
std::string nearest_flag(std::string name) {
  name.erase(0, name.find_first_not_of('-'));
  if (size_t end = name.find('='); end != std::string::npos) name.resize(end);
  std::string nearest = nearest_option(kReducerOptions, name);
  return nearest.empty() ? "; see --help" : suggest("--" + nearest);
}

// NAME's value in an environment, or "".
std::string value_of(std::span<const std::string> environment, const std::string& name) {
  for (const std::string& entry : environment)
    if (entry.rfind(name + "=", 0) == 0) return entry.substr(name.size() + 1);
  return "";
}

// Options of a job, which may stand in a reducer's environment too, and what nobody wrote.
bool for_others(std::string_view variable) {
  for (const OptionSpec& o : kPluginOptions)
    if (variable == o.name) return true;
  return variable.starts_with("FANIN_TEST_") || variable.starts_with("FANIN_BUILD") ||
         set_by_kubernetes(variable);
}

// "FANIN_LANE" and "FANIN_REDUCER_LANE" -> FANIN_REDUCER_LANES
std::string nearest_variable(std::string_view name) {
  for (std::string_view prefix :
       {kPrefix, kPrefix.substr(0, kPrefix.size() - 1), std::string_view("FANIN_")}) {
    if (!name.starts_with(prefix)) continue;
    std::string stem(name.substr(prefix.size()));
    std::replace(stem.begin(), stem.end(), '_', '-');
    if (std::string nearest = nearest_option(kReducerOptions, stem); !nearest.empty())
      return variable_of(nearest);
  }
  return nearest_option(kPluginOptions, name);
}

// --print-config must be able to write it, in quotes of one kind; CLI11 takes # for a comment even there.
bool fits_config_file(std::string_view text) {
  for (unsigned char c : text)
    if (c < 32 || c == 127 || c == '#') return false;
  return text.find('"') == std::string_view::npos || text.find('\'') == std::string_view::npos;
}

bool given(const std::vector<std::string>& args, const std::string& flag) {
  for (const std::string& a : args)
    if (a == flag || a.rfind(flag + "=", 0) == 0) return true;
  return false;
}

// What opens the pool to everyone when it is left out, as `--secret-file "$UNSET"` would; and what to say then. A variable or a
// line of a file may be empty: that is how they say "none".
struct Guard {
  const char* option;
  const char* empty;
};
constexpr Guard kGuards[] = {
    {"secret-file", "is empty, so no secret would be asked for; name a file, or leave the option out"},
    {"admin-secret-file",
     "is empty, so nobody could drain this reducer; name a file, or leave the option out"},
    {"allow", "is empty, so everyone would be let in; name networks, or leave the option out"},
};

std::string first_line(std::string text) { return text.substr(0, text.find('\n')); }

}  // namespace

Result<CommandLine> read_command_line(const std::vector<std::string>& args,
                                      std::span<const std::string> environment) {
  CommandLine out;
  CLI::App app("fanin-reducer: sums what fanin's workers send, in rank order, and sends the result back.",
               "fanin-reducer");
  app.footer(
      "Each option is also read from the environment (FANIN_REDUCER_LANES for --lanes) and from the file of\n"
      "--config; the command line wins over the environment, the environment over the file.\n"
      "SIGTERM (or SIGUSR1) drains: no new sessions, running ones finish. A second signal ends them at "
      "once.");
  for (size_t i = 0; i < kNumOptions; ++i) {
    const OptionSpec& o = kReducerOptions[i];
    out.settings.text[i] = o.fallback;
    app.add_option(std::string("--") + o.name, out.settings.text[i], o.help)
        ->default_str(o.fallback)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  app.set_config("--config", "", "Read options from this TOML or INI file (--print-config writes one).")
      ->type_name("FILE");
  app.allow_config_extras(CLI::config_extras_mode::error);
  bool print_config = false;
  app.add_flag("--print-config", print_config, "Print all options with their values as a configuration file.")
      ->configurable(false);
  app.set_version_flag("--version", std::string("fanin-reducer ") + kFaninVersion);

  // Variables become arguments before the user's own: those win, and both win over the file, which CLI11 asks
  // last.
  std::vector<std::string> all;
  std::map<std::string, std::string> option_of = {{std::string(kPrefix) + "CONFIG", "config"}};
  for (const OptionSpec& o : kReducerOptions) option_of[variable_of(o.name)] = o.name;
  for (const std::string& entry : environment) {
    size_t eq = entry.find('=');
    if (entry.rfind("FANIN_", 0) != 0 || eq == std::string::npos) continue;
    std::string name = entry.substr(0, eq), value = entry.substr(eq + 1);
    auto known = option_of.find(name);
    if (known == option_of.end()) {
      if (!for_others(name))
        out.warnings.push_back("unknown variable " + name + suggest(nearest_variable(name)));
      continue;
    }
    for (const OptionSpec& o : kReducerOptions)
      if (known->second == o.name)
        if (Status s = check_option(o, value); !s) return usage(name + ": " + s.error().text());
    // A variable may be there and say nothing (a line of /etc/default, a pod's env).
    if (value.empty()) continue;
    // Of two --config the first is read too; the user's replaces the variable's.
    if (known->second == "config" && given(args, "--config")) continue;
    all.push_back("--" + known->second + "=" + value);
  }
  for (const std::string& a : args) {
    // CLI11 would take the next argument for the value of `--option=`.
    const bool nothing = a.starts_with("--") && a.find('=') == a.size() - 1;
    all.push_back(nothing ? a.substr(0, a.size() - 1) : a);
    if (nothing) all.emplace_back();
  }

  try {
    std::reverse(all.begin(), all.end());  // CLI11 takes them from the back
    app.parse(all);
  } catch (const CLI::CallForHelp&) {
    out.print = app.help();
    return out;
  } catch (const CLI::CallForVersion&) {
    out.print = std::string("fanin-reducer ") + kFaninVersion + "\n";
    return out;
  } catch (const CLI::ExtrasError&) {
    std::vector<std::string> rest = app.remaining();
    std::string what = rest.empty() ? "?" : rest.front();
    return usage("unknown argument " + fanin::quoted(what) + nearest_flag(what));
  } catch (const CLI::FileError& e) {
    return usage("--config: cannot read the file: " + first_line(e.what()) +
                 "; give an existing, readable file");
  } catch (const CLI::ConfigError& e) {
    std::string what = first_line(e.what());
    // A name that it does not know, in CLI11's words; of a section, "section.++".
    constexpr std::string_view kStrange = "INI was not able to parse ";
    if (!what.starts_with(kStrange)) return usage("--config: " + what + kSyntax);
    what.erase(0, kStrange.size());
    if (const size_t dot = what.find('.'); dot != std::string::npos)
      return usage("--config: the file has a section " + fanin::quoted(what.substr(0, dot)) +
                   "; options stand in none" + kSyntax);
    const std::string nearest = nearest_option(kReducerOptions, what);
    return usage("--config: the file has " + fanin::quoted(what) + ", which is no option" +
                 (nearest.empty() ? "" : " (did you mean " + nearest + "?)") + kSyntax);
  } catch (const CLI::Error& e) {
    return usage(first_line(e.what()) + "; see --help");
  }

  for (size_t i = 0; i < kNumOptions; ++i) {
    const OptionSpec& o = kReducerOptions[i];
    std::string flag = std::string("--") + o.name;
    Status s = check_option(o, out.settings.text[i]);
    if (s && o.type == OptionType::kText && !fits_config_file(out.settings.text[i]))
      s = Error(Errc::kInvalidUsage, std::string(o.name) + ": " + fanin::quoted(out.settings.text[i]) +
                                         " has a character that no configuration file can hold (#, a control "
                                         "character, both kinds of quotes)");
    if (!s) return usage((given(args, flag) ? "" : "in the --config file, ") + ("--" + s.error().text()));
  }
  for (const Guard& g : kGuards)
    if (const std::string flag = std::string("--") + g.option;
        given(args, flag) && out.settings[g.option].empty())
      return usage(flag + " " + g.empty);
  // What gives the secret to a job gives it to a reducer too, so that one environment serves both.
  std::string& secret_file = out.settings["secret-file"];
  if (secret_file.empty()) {
    secret_file = value_of(environment, "FANIN_SECRET_FILE");
    out.secret = value_of(environment, "FANIN_SECRET");
    if (!secret_file.empty() && !out.secret.empty())
      return usage("FANIN_SECRET_FILE and FANIN_SECRET are both set; unset one of them");
  }
  if (out.settings["listen"] == "auto") {
    Result<uint16_t> port =
        discover_own_port([&](const std::string& name) { return value_of(environment, name); });
    if (!port)
      return usage(port.error().text() + "; start reducers in their own pool, or give --listen HOST:PORT");
    if (*port != 0) out.own_port = *port;
  }
  if (print_config) out.print = config_file_of(out.settings);
  return out;
}

}  // namespace fanin::reducer::cli
