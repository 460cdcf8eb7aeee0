// The same for a job of the real NCCL on the CPU device (tests/nccl): nccl-ranks, one rank a node, that sums and
// checks round after round. Not behind links: NCCL's own bootstrap goes over the same network and does not survive it.
#pragma once
#include "tests/faults/findings.h"
#include "tests/faults/pool.h"

namespace fanin::faults {

// Whether nccl-ranks was built.
bool nccl_built();
// Faults of ranks while NCCL itself connects are NCCL's to survive, not fanin's.
bool nccl_allows(const Scenario& scenario);
Findings try_nccl(const Scenario& scenario, Pool& pool);

}  // namespace fanin::faults
