// How fast this session is: a few messages through it, before NCCL gets it. All its ranks do the same at the same time
// (verdict.h), so that links carry what they will carry later.
#pragma once
#include <optional>

#include "fanin/figures.h"
#include "plugin/collnet/comm.h"
#include "transport/deadline.h"

namespace fanin::plugin::collnet {

// reducers: of the session. nic_mbps: what the NIC is known to carry, 0 where that is not known.
// Null: the session failed meanwhile, as its next call will say, or past the deadline, when this makes it fail. On the
// thread that will give the communicator to NCCL.
std::optional<wire::PoolFigures> probe(Comm& comm, size_t reducers, int nic_mbps, Deadline deadline);

// What the pool and the links behind such times are like; pure.
wire::PoolFigures figures_of(double small_us, double chunk_us, double pool_rate, size_t reducers,
                             uint32_t nranks, int nic_mbps);

}  // namespace fanin::plugin::collnet
