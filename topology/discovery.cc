#include "topology/discovery.h"

#include <cstdlib>

#include "topology/cluster_spec.h"
#include "topology/host_list.h"
#include "transport/tcp/address.h"

namespace fanin {
namespace {

constexpr const char* kReducers = "FANIN_REDUCERS";
constexpr std::string_view kSlurm = "slurm:";

void join(PoolSource& source, const std::vector<std::string>& entries, const std::string& end = "") {
  // A host may be called dns or file; what begins with a comma is a list.
  if (entries.front().starts_with("dns:") || entries.front().starts_with("file:")) source.spec = ",";
  for (const std::string& e : entries)
    source.spec += (source.spec.empty() || source.spec == "," ? "" : ",") + e + end;
  source.expect = entries.size();
}

// "4000", "1:4000"
PoolSource slurm(std::string_view text, const EnvLookup& lookup) {
  PoolSource out{kReducers};
  const size_t colon = text.find(':');
  const std::string group(colon == std::string_view::npos ? "1" : text.substr(0, colon));
  const std::string port(text.substr(colon == std::string_view::npos ? 0 : colon + 1));
  if (group.empty() || group.size() > 3 || group.find_first_not_of("0123456789") != std::string::npos ||
      !tcp::parse_host_port("host:" + port)) {
    out.trouble =
        quoted(std::string(kSlurm) + std::string(text)) +
        " is not slurm:PORT or slurm:GROUP:PORT; write slurm:4000 for component 1 of a heterogeneous job";
    return out;
  }
  const std::string variable = "SLURM_JOB_NODELIST_HET_GROUP_" + group, list = lookup(variable);
  if (list.empty()) {
    out.trouble = variable + " is not set: this is no heterogeneous Slurm job with a component " + group;
    return out;
  }
  Result<std::vector<std::string>> hosts = expand_hosts(list);
  if (hosts)
    join(out, *hosts, ":" + port);
  else
    out.trouble = hosts.error().in(variable).text();
  return out;
}

}  // namespace

std::string from_process(const std::string& variable) {
  const char* value = getenv(variable.c_str());
  return value ? value : "";
}

PoolSource discover_pool(const EnvLookup& lookup) {
  if (const std::string text = lookup(kReducers); !text.empty()) {
    if (text.starts_with(kSlurm)) return slurm(std::string_view(text).substr(kSlurm.size()), lookup);
    if (text == "none") return {kReducers, "", "FANIN_REDUCERS is 'none'", true};
    return {kReducers, text};
  }
  for (const ClusterForm& form : kClusterForms) {
    const std::string text = lookup(form.variable);
    if (text.empty()) continue;
    PoolSource out{form.variable};
    Result<std::vector<std::string>> entries = cluster_reducers(form, text);
    if (entries)
      join(out, *entries);
    else
      out.trouble = "FANIN_REDUCERS is not set and " + entries.error().text();
    return out;
  }
  return {};
}

Result<uint16_t> discover_own_port(const EnvLookup& lookup) {
  for (const ClusterForm& form : kClusterForms)
    if (const std::string text = lookup(form.variable); !text.empty()) return cluster_own_port(form, text);
  return uint16_t{0};
}

}  // namespace fanin
