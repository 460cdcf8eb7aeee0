// Runs collectives over all sizes of the options, out of place and in place, and checks every element.
#pragma once
#include <nccl.h>

#include <string>
#include <vector>

#include "tests/nccl/ranks/values.h"
#include "tests/nccl/ranks/world.h"

namespace ranks {

// members: the world's ranks in this communicator, in its order. Adds to shared.wrong and to this rank's
// hash.
void check_collective(Rank& rank, ncclComm_t comm, const std::vector<int>& members, const std::string& coll,
                      const Values& values);
// All combinations of the options' collectives, types and operators.
void check_all(Rank& rank, ncclComm_t comm, const std::vector<int>& members);

// Several all-reduces of different sizes in one ncclGroup.
void check_group(Rank& rank, ncclComm_t comm, const std::vector<int>& members, const Values& values);

}  // namespace ranks
