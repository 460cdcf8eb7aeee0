#include "plugin/collnet/pool_warning.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <set>
#include <string>

#include "plugin/lasting.h"
#include "plugin/log.h"

namespace fanin::plugin::collnet {
namespace {

struct Said {
  std::mutex mutex;
  std::set<std::string> lines;
};

// Of one job, whose communicators are mostly alike.
bool first_time(const std::string& line) {
  static Lasting<Said> lasting([] { return Said(); });
  Said& said = *lasting;
  const std::lock_guard lock(said.mutex);
  return said.lines.insert(line).second;
}

}  // namespace

std::optional<PoolFit> fit_of(const Verdict& verdict, std::span<const Joined> joined, uint32_t nranks) {
  if (nranks < 2 || verdict.node_mbps == 0 || verdict.weights.empty()) return std::nullopt;
  PoolFit fit;
  fit.nodes = nranks;
  fit.node = 1e6 * verdict.node_mbps;
  for (size_t i = 0; i < verdict.reducers.size(); ++i) {
    const auto j =
        std::find_if(joined.begin(), joined.end(), [&](auto& x) { return x.id == verdict.reducers[i]; });
    if (j == joined.end() || j->mbps == 0 || j->node_mbps == 0) return std::nullopt;
    fit.pool += 1e6 * j->node_mbps * verdict.weights[i] / j->mbps;
    ++fit.reducers;
  }
  return fit.reducers > 0 ? std::optional(fit) : std::nullopt;
}

void warn_if_too_small(const std::optional<PoolFit>& fit, const NodeRate& node) {
  if (!fit || !fit->loses()) return;
  const bool own = std::abs(node.bits - fit->node) < 1e6;  // and not a slower node's
  const std::string line =
      fit->text(own ? node.from : "the slowest of them") + "; " + fit->remedy() + " (" + fit->command() + ")";
  if (first_time(line)) FANIN_WARN("%s", line.c_str());
}

}  // namespace fanin::plugin::collnet
