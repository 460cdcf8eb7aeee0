#include "perf/doctor/pool_check.h"

#include <cstdio>

#include "perf/doctor/reach.h"
#include "perf/doctor/trial.h"
#include "plugin/job_secret.h"
#include "plugin/net/device.h"
#include "plugin/net/node_rate.h"
#include "topology/pool.h"
#include "topology/pool_fit.h"
#include "topology/rate.h"

namespace fanin::doctor {
namespace {

// Of names, all together; the first that is begun ends as resolv.conf says.
constexpr std::chrono::seconds kLookups{10};

std::string micro(double seconds) {
  char text[32];
  snprintf(text, sizeof text, "%.0f us", seconds * 1e6);
  return text;
}

// None: none can be used.
std::optional<plugin::NodeRate> check_nics(const plugin::Options& options, Findings& findings) {
  auto devices = plugin::net_devices();
  if (!devices) {
    findings.fail("nic", devices.error().text(),
                  "set NCCL_SOCKET_IFNAME to the interface of the job's network");
    return std::nullopt;
  }
  std::string text;
  bool loopback = true;
  for (const plugin::NetDevice& d : *devices) {
    text += (text.empty() ? "" : ", ") + d.name + " " + d.address.host() + " (" +
            (d.speed_known ? rate_text(d.speed_mbps * 1e6) : "speed unknown") + ")";
    loopback = loopback && d.address.is_loopback();
  }
  if (loopback)
    findings.warn("nic", text + ": other hosts cannot be reached from there",
                  "set NCCL_SOCKET_IFNAME to the job's network");
  else
    findings.ok("nic", text);
  return plugin::node_rate(options.worker_bw, *devices);
}

// False: no connection would be made.
bool check_secret(const plugin::Options& options, Findings& findings) {
  auto secret = plugin::job_secret(options);
  if (!secret) {
    findings.fail("secret", secret.error().text(),
                  "give exactly one of FANIN_SECRET_FILE and FANIN_SECRET, readable here");
    return false;
  }
  if (*secret)
    findings.ok("secret", options.secret_file.empty() ? "from FANIN_SECRET" : "from " + options.secret_file);
  return true;
}

void check_bandwidth(const PoolQuestion& question, size_t reducers, const plugin::NodeRate& node,
                     Findings& findings) {
  static constexpr const char* kTopic = "bandwidth";
  if (question.workers < 2 || question.reducer_rate <= 0) {
    findings.ok(kTopic, "not judged: --workers N and --reducer-bw RATE say what is needed (fanin-topo plan)");
    return;
  }
  if (node.bits <= 0) {
    findings.ok(kTopic,
                "not judged: the kernel does not know the speed of this node's NICs; set FANIN_WORKER_BW");
    return;
  }
  const PoolFit fit{question.workers, node.bits, static_cast<unsigned>(reducers),
                    question.reducer_rate * static_cast<double>(reducers)};
  const std::string fix = fit.remedy() + " (" + fit.command() + ")";
  if (fit.loses())
    findings.fail(kTopic, fit.text(node.from), fix);
  else if (fit.below_the_nodes())
    findings.warn(kTopic, fit.text(node.from), fix);
  else
    findings.ok(kTopic, fit.text(node.from));
}

// False: the job does without this one. level: what that means.
bool check_reducer(const PoolQuestion& question, const PoolMember& member, const Reached& reached,
                   Level level, Findings& findings) {
  const std::string topic = "reducer " + member.name;
  if (!reached.yes) {
    findings.add(
        {level, topic, "cannot be reached: " + reached.error,
         "start fanin-reducer there, or open the port in firewall, security group or NetworkPolicy"});
    return false;
  }
  if (question.plugin.empty()) {
    findings.ok(topic, "connected in " + micro(reached.seconds) + "; not tried without a plugin");
    return true;
  }
  auto tried = try_pool(question.plugin, member.name, question.patience);
  if (!tried) {
    findings.add(
        {level, topic, "does not take this job: " + tried.error().text(), "the reducer's log has its side"});
    return false;
  }
  findings.ok(topic, "connected in " + micro(reached.seconds) + "; two ranks on this host sum 32 KiB in " +
                         micro(tried->round_trip_s) + "; protocol and secret agree");
  return true;
}

// How many the job would use, those that were not tried among them. One that fails alone is left out, or keeps the job
// from all: the plugin says which.
size_t check_reducers(const PoolQuestion& question, const std::string& spec,
                      const std::vector<PoolMember>& members, Findings& findings) {
  const std::vector<Reached> reached = reach(members, question.patience);
  const bool one = members.size() == 1;
  // A large pool that hangs would take as many minutes: one by one for so long, then only as a whole.
  const std::chrono::milliseconds enough = 20 * question.patience;
  const Deadline until = Deadline::after(enough);
  size_t good = 0, untried = 0;
  for (size_t i = 0; i < members.size(); i++)
    if (until.passed()) {
      untried++;
      findings.warn("reducer " + members[i].name,
                    "not tried: those before took " + std::to_string(enough.count()) + " ms",
                    "see those before");
    } else {
      good += check_reducer(question, members[i], reached[i], one ? Level::kFail : Level::kWarn, findings);
    }
  if (one || question.plugin.empty()) return good;
  if (good + untried == 0) {
    findings.fail("pool", "none of its " + std::to_string(members.size()) + " reducers can be used",
                  "see the reducers above");
    return 0;
  }
  auto tried = try_pool(question.plugin, spec, question.patience);
  if (!tried)
    findings.fail("pool", "two ranks on this host cannot use it: " + tried.error().text(),
                  "see the reducers above");
  else
    findings.ok("pool", "two ranks on this host use " + std::string(untried ? "at least " : "") +
                            std::to_string(good) + " of " + std::to_string(members.size()));
  return good + untried;
}

}  // namespace

size_t check_pool(const plugin::Options& options, const PoolQuestion& question, Findings& findings) {
  const std::optional<plugin::NodeRate> node = check_nics(options, findings);
  const bool secret = check_secret(options, findings);
  static constexpr const char* kFix =
      "set FANIN_REDUCERS=host:port,... or dns:name:port or file:path (docs/discovery.md)";
  const PoolSource& source = options.pool;
  if (source.spec.empty()) {
    const std::string why = source.off ? "FANIN_REDUCERS=none"
                            : !source.trouble.empty()
                                ? source.trouble
                                : "FANIN_REDUCERS, CLUSTER_SPEC and TF_CONFIG are not set";
    findings.fail("pool", "no reducers: " + why, kFix);
    return 0;
  }
  auto members = resolve_pool(source.spec, AF_UNSPEC, Deadline::after(kLookups));
  if (!members) {
    findings.fail("pool", source.from + ": " + members.error().text(), kFix);
    return 0;
  }
  const size_t expected = options.expect_reducers != 0 ? options.expect_reducers : source.expect;
  const std::string count = std::to_string(members->size()) + " reducers, from " + source.from;
  if (members->size() < expected)
    findings.warn("pool", count + "; " + std::to_string(expected) + " are expected",
                  "start the others, or expect fewer");
  else
    findings.ok("pool", count);
  const size_t usable = secret ? check_reducers(question, source.spec, *members, findings) : 0;
  // Where none can be used that is said; the bandwidth is what they would have.
  if (node) check_bandwidth(question, usable ? usable : members->size(), *node, findings);
  return members->size();
}

}  // namespace fanin::doctor
