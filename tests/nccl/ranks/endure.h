// Extra "endure": all-reduces, checked round after round, until told to end (SIGUSR1 to nccl-ranks) or an error comes;
// what a fault driver outside does its work on (tests/faults).
//
// Each rank says "pid N", "running" after the first round, and in the end "right after N rounds", "error E (text) in
// round N", or "HUNG"; wrong elements are counted in shared.wrong and said.
#pragma once
#include "tests/nccl/ranks/values.h"
#include "tests/nccl/ranks/world.h"

namespace ranks {

// To be said before NCCL is called: then the driver can find the rank.
void say_pid(const Rank& rank);
// Ends the communicator. False when the rank hung.
bool endure(Rank& rank, ncclComm_t comm, const Values& values);

}  // namespace ranks
