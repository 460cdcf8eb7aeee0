#include "topology/cli/job.h"

#include <cstdlib>

#include "plugin/net/node_rate.h"
#include "plugin/options.h"
#include "topology/cli/plan_options.h"
#include "topology/cli/text.h"
#include "topology/discovery.h"
#include "topology/pool.h"

namespace fanin::topo {
namespace {

constexpr std::chrono::seconds kPatience{30};  // for looking names up; those that remain count too

Result<std::string> count_reducers(std::string& reducers) {
  const PoolSource source = discover_pool();
  if (!source.trouble.empty()) return Error(Errc::kInvalidUsage, source.trouble);
  if (source.spec.empty())
    return Error(Errc::kInvalidUsage,
                 "no reducers are configured here; set FANIN_REDUCERS as in the job, or use plan");
  Result<std::vector<PoolMember>> pool = resolve_pool(source.spec, AF_UNSPEC, Deadline::after(kPatience));
  if (!pool) return pool.error().in(source.from);
  if (reducers.empty()) reducers = std::to_string(pool->size());
  return format("%s names %zu reducers", source.from.c_str(), pool->size());
}

Result<std::string> add_nics(std::string& rate) {
  Result<std::vector<plugin::NetDevice>> devices = plugin::find_net_devices();
  if (!devices) return devices.error();
  const plugin::NodeRate node = plugin::node_rate(plugin::options().worker_bw, *devices);
  if (node.bits > 0) {
    rate = format("%.0f", node.bits);
    return node.from;
  }
  std::string names;
  for (const plugin::NetDevice& d : *devices) names += (names.empty() ? "" : ", ") + d.name;
  return Error(Errc::kInvalidUsage,
               "the kernel does not know the speed of " + names +
                   " (virtual NICs seldom say); give --worker-bw, or set FANIN_WORKER_BW as in the job");
}

}  // namespace

Result<std::string> ask_job(std::map<std::string, std::string>& values) {
  Result<std::string> pool = count_reducers(values["reducers"]);
  if (!pool) return pool;
  std::string said = *pool;
  if (values["workers"].empty())
    if (const char* nodes = getenv("SLURM_JOB_NUM_NODES")) {
      constexpr const OptionSpec& workers = kPlanOptions[0];
      if (Result<int64_t> n = parse_int(nodes, workers.min, workers.max); !n)
        return n.error().in("SLURM_JOB_NUM_NODES");
      values["workers"] = nodes;
    }
  if (values["workers"].empty())
    return Error(Errc::kInvalidUsage, "the environment does not say how many nodes work; give --workers");
  if (values["reducer-bw"].empty())
    return Error(Errc::kInvalidUsage, "give --reducer-bw, the bandwidth of a reducer's machine");
  if (values["worker-bw"].empty()) {
    Result<std::string> nics = add_nics(values["worker-bw"]);
    if (!nics) return nics;
    said += "; this worker uses " + *nics;
  }
  return said + "\n";
}

}  // namespace fanin::topo
