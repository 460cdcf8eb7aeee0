#include "perf/fanin_perf/rank.h"

#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>

#include "perf/common/coll_comm.h"
#include "perf/common/plugin_log.h"
#include "perf/fanin_perf/collnet_engine.h"
#include "perf/fanin_perf/measure.h"
#include "perf/fanin_perf/report.h"
#include "perf/fanin_perf/ring_engine.h"
#include "topology/discovery.h"

namespace fanin::perf {
namespace {

Result<std::unique_ptr<Engine>> connect(const Options& options, const Plugin& plugin, Group& group,
                                        bool crowded) {
  if (options.ring) return RingEngine::make(plugin, group, options.channels, crowded, options.patience);
  auto comm = CollComm::make(plugin, group);
  if (!comm) return comm.error();
  if (!comm->comm()) {
    // The verdict is common to all ranks: one of them tells.
    return Error(group.rank() == 0 ? Errc::kInvalidUsage : Errc::kRemote,
                 "the reducers cannot be used: " + last_plugin_line());
  }
  return std::unique_ptr<Engine>(std::make_unique<CollnetEngine>(std::move(*comm), group.rank(), group.size(),
                                                                 options.channels, options.whole, crowded));
}

Status measure_all(const Options& options, Meter& meter, Report* report) {
  for (uint64_t bytes = options.begin; bytes <= options.end; bytes *= options.factor) {
    Result<Measurement> m = meter.run(bytes);
    if (!m) return m.error();
    if (report) report->add(*m);
  }
  return {};
}

}  // namespace

Status run_rank(const Options& options, Group group, const LocalReducers& reducers, bool crowded) {
  using Clock = std::chrono::steady_clock;
  set_plugin_log(options.verbose     ? NCCL_LOG_INFO
                 : group.rank() == 0 ? NCCL_LOG_WARN
                                     : NCCL_LOG_NONE,
                 "rank " + std::to_string(group.rank()) + ": ");
  Result<Plugin> plugin = Plugin::open(options.plugin);
  if (!plugin) return plugin.error();
  auto started = Clock::now();
  auto engine = connect(options, *plugin, group, crowded);
  if (!engine) return engine.error();
  RunFacts facts;
  facts.connect_s = std::chrono::duration<double>(Clock::now() - started).count();
  facts.local_reducers = reducers.count();
  facts.pool = discover_pool().spec;

  std::optional<Report> report;
  if (group.rank() == 0) report.emplace(options, facts);
  Meter meter(options, group, **engine, reducers, [&](const std::string& text) {
    if (report) report->progress(text);
  });
  Status done = meter.prepare();
  if (done) {
    // NCCL's proxy progress thread: the only one that moves data.
    std::thread progress([&] { done = measure_all(options, meter, report ? &*report : nullptr); });
    progress.join();
  }
  // Nobody leaves while another rank still works.
  if (done) done = group.barrier();
  Status closed = (*engine)->close();
  if (done) done = closed;
  if (done && report) done = report->finish();
  if (done && report && report->wrong() > 0)
    return Error(Errc::kInternal, std::to_string(report->wrong()) + " elements are wrong");
  return done;
}

}  // namespace fanin::perf
