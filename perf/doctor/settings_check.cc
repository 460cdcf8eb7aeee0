#include "perf/doctor/settings_check.h"

#include <dlfcn.h>
#include <strings.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "fanin/text_file.h"
#include "plugin/abi/net_calls.h"
#include "plugin/tuner/rules.h"

namespace fanin::doctor {
namespace {

std::string lower(std::string s) {
  for (char& c : s) c = static_cast<char>(tolower(static_cast<unsigned char>(c)));
  return s;
}

std::string named(const char* name, const Setting& s) {
  return std::string(name) + "=" + s.value + " (" + s.from + ")";
}

// What NCCL_ALGO or NCCL_PROTO says of all-reduce: "^" excludes, a prefix "allreduce:" says for whom (2.24 and later).
bool allows(const std::string& value, const std::string& wanted) {
  std::string rules = lower(value), rule;
  size_t from = 0;
  while (from <= rules.size()) {
    size_t end = std::min(rules.find(';', from), rules.size());
    std::string part = rules.substr(from, end - from);
    from = end + 1;
    size_t colon = part.find(':');
    if (colon == std::string::npos)
      rule = rule.empty() ? part : rule;
    else if (part.substr(0, colon) == "allreduce")
      rule = part.substr(colon + 1);
  }
  if (rule.empty()) return true;
  return rule[0] == '^' ? rule.find(wanted) == std::string::npos : rule.find(wanted) != std::string::npos;
}

void check_algo(const Variables& variables, Findings& findings) {
  if (const Setting* algo = variables.find("NCCL_ALGO")) {
    const std::string text = named("NCCL_ALGO", *algo);
    if (!allows(algo->value, "collnet"))
      findings.fail("NCCL_ALGO", text + " forbids CollNet", "unset it: NCCL chooses by itself");
    else if (algo->value[0] != '^')
      findings.warn("NCCL_ALGO",
                    text + " forces an algorithm: operations without a CollNet form (barriers) may fail",
                    "unset it outside of measurements");
  }
  if (const Setting* proto = variables.find("NCCL_PROTO"); proto && !allows(proto->value, "simple"))
    findings.fail("NCCL_PROTO",
                  named("NCCL_PROTO", *proto) + " forbids Simple, the only protocol CollNet has", "unset it");
}

// Whether NCCL takes a tuner that the variable names; "none" is one from 2.26 on (plugin/tuner/reopen.h), else NCCL
// goes on to the one in fanin's library.
bool names_tuner(const NcclLibrary& nccl, const std::string& value) {
  if (strcasecmp(value.c_str(), "none") == 0) return nccl.at_least(2, 26);
  if (strncasecmp(value.c_str(), "STATIC_PLUGIN", value.size()) == 0) return true;  // as in reopen.cc
  const auto opens = [](const std::string& name) {
    return dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL) != nullptr;
  };
  const bool as_it_is = !nccl.takes_no_paths() || (value.starts_with("lib") && value.ends_with(".so"));
  return (as_it_is && opens(value)) || opens("libnccl-tuner-" + value + ".so");
}

// Who decides when CollNet is used, and whether ever.
void check_tuner(const NcclLibrary& nccl, const Variables& variables, unsigned workers, bool on,
                 Findings& findings) {
  static constexpr const char* kName = "NCCL_TUNER_PLUGIN";
  const Setting* const tuner = variables.find(kName);
  if (tuner && nccl.at_least(2, 19) && tuner->value.find(plugin::abi::kName) == std::string::npos) {
    const std::string text = named(kName, *tuner);
    if (names_tuner(nccl, tuner->value))
      return findings.warn(kName, text + ": fanin's tuner does not decide when CollNet is used",
                           "unset it unless it is meant");
    findings.warn(kName, text + " names no library, so that NCCL takes fanin's tuner",
                  "unset it; FANIN_TUNER=0 turns fanin's off");
  }
  if (workers == 2 && nccl.at_least(2, 21) && on && !variables.find("NCCL_ALGO"))
    findings.fail(
        "tuner", "between 2 nodes a ring is as fast: fanin's tuner leaves them to it (docs/tuner.md)",
        "use reducers from 3 nodes on; NCCL_ALGO=allreduce:collnetdirect,collnetchain shows that they work");
}

}  // namespace

void check_collnet(const NcclLibrary& nccl, const Variables& variables, GetEnv env_plugin,
                   bool net_plugin_may, Findings& findings) {
  static constexpr const char* kName = "NCCL_COLLNET_ENABLE";
  const Setting* set = variables.find(kName);
  if (set && (nccl.at_least(2, 27) ? strtol(set->value.c_str(), nullptr, 0) == 1 : set->value == "1"))
    return findings.ok(kName, "1, from " + set->from);
  if (set)
    return findings.fail(kName, "'" + set->value + "', from " + set->from + ": CollNet is off",
                         "set it to 1");
  if (variables.is_empty(kName))
    return findings.fail(kName, "set to nothing: CollNet is off, and nobody else turns it on",
                         "set it to 1, or unset it");
  if (env_plugin && env_plugin(kName)) return findings.ok(kName, "1, from fanin's environment plugin");
  if (!nccl.at_least(2, 27) && net_plugin_may)
    return findings.ok(kName, "1, from the plugin (NCCL up to 2.26)");
  findings.fail(
      kName, "not set: NCCL does not look at the reducers, and does not say so",
      std::string("set it to 1 on every rank") +
          (nccl.asks_env_plugin() ? ", or put the folder of fanin's libnccl-env.so on the library path"
                                  : ""));
}

void check_rules(const std::string& path, Findings& findings) {
  static constexpr const char* kName = "FANIN_TUNER_FILE";
  if (path.empty()) return;
  Result<std::string> text = read_text_file(path);
  if (!text)
    return findings.warn(kName, text.error().text() + "; no rules",
                         "make it readable on every rank, or unset it: ranks whose rules differ use none");
  const plugin::tuner::Rules rules = plugin::tuner::parse_rules(*text);
  // Another file, named by mistake, may have a million lines.
  const size_t wrong = rules.mistakes.size(), told = std::min<size_t>(wrong, 8);
  for (size_t i = 0; i < told; ++i)
    findings.warn(kName, path + " " + rules.mistakes[i] + "; the line is ignored",
                  "docs/tuner.md has the form");
  if (wrong > told)
    findings.warn(kName, path + ": " + std::to_string(wrong - told) + " more lines are no rules and ignored",
                  "docs/tuner.md has the form");
  if (rules.mistakes.empty()) findings.ok(kName, std::to_string(rules.rules.size()) + " rules of " + path);
}

void check_conflicts(const NcclLibrary& nccl, const Variables& variables, unsigned workers, bool tuner,
                     Findings& findings) {
  check_algo(variables, findings);
  if (const Setting* net = variables.find("NCCL_NET");
      net && strcasecmp(net->value.c_str(), plugin::abi::kName) != 0)
    findings.fail("NCCL_NET", named("NCCL_NET", *net) + " asks for another network",
                  "unset it, or set it to fanin");
  check_tuner(nccl, variables, workers, tuner, findings);
  if (const Setting* threshold = variables.find("NCCL_COLLNET_NODE_THRESHOLD")) {
    const long least = strtol(threshold->value.c_str(), nullptr, 0);
    const std::string text = named("NCCL_COLLNET_NODE_THRESHOLD", *threshold);
    if (workers > 0 && least > static_cast<long>(workers))
      findings.fail("NCCL_COLLNET_NODE_THRESHOLD",
                    text + ": the job has " + std::to_string(workers) + " nodes", "unset it (2)");
    else if (workers == 0 && least > 2)
      findings.warn("NCCL_COLLNET_NODE_THRESHOLD", text + ": jobs with fewer nodes do not use reducers",
                    "unset it (2)");
  }
  for (const char* name : {"LD_LIBRARY_PATH", "LD_PRELOAD"})
    if (const Setting* path = variables.find(name); path && path->value.find('$') != std::string::npos)
      findings.warn(name, "contains a '$' that nothing has expanded: " + path->value,
                    "a pod or job specification does not expand variables: write the folders out, or use "
                    "/etc/ld.so.conf.d");
}

}  // namespace fanin::doctor
