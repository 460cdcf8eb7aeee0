// One run: a job and a bystander on the pool, the fault, and what must hold afterwards.
//
// Holds for every run: each surviving rank ends within a bound, with right results, ncclRemoteError naming a rank or a
// reducer, or the ring (all ranks together); nothing is left behind in ranks, reducers, /dev/shm or ports; reducers that
// were not hit go on; the bystander's results stay right and it goes on; the next job works.
#pragma once
#include "tests/faults/findings.h"
#include "tests/faults/network.h"
#include "tests/faults/pool.h"

namespace fanin::faults {

Findings try_job(const Scenario& scenario, Network& network, Pool& pool);

}  // namespace fanin::faults
