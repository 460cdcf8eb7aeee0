// The line that says a pool is too small for its workers, so that NCCL's ring would be faster (docs/sizing.md).
#pragma once
#include <optional>
#include <span>

#include "plugin/collnet/connector.h"
#include "plugin/collnet/verdict.h"
#include "plugin/net/node_rate.h"
#include "topology/pool_fit.h"

namespace fanin::plugin::collnet {

// From rank 0's view: joined are its own, and where another rank's way to a reducer is slower (verdict.weights), a reducer has
// less in proportion. Null where a speed is unknown, or there is one rank. Pure.
std::optional<PoolFit> fit_of(const Verdict& verdict, std::span<const Joined> joined, uint32_t nranks);

// One WARN where the pool loses; the same line once in a process. node: rank 0's, to say where the figure is from. Any thread.
void warn_if_too_small(const std::optional<PoolFit>& fit, const NodeRate& node);

}  // namespace fanin::plugin::collnet
