// Which process of how many this is and where they meet, as torchrun, srun or mpirun say it in the
// environment. Pure functions of the environment handed in.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "fanin/error.h"
#include "transport/tcp/address.h"

namespace fanin::nccl_perf {

struct Placement {
  int process = 0, processes = 1;
  int local = 0;         // index among the processes of this host: chooses the GPUs
  tcp::HostPort meet;    // process 0 listens there
  std::string launcher;  // "torchrun", "Open MPI", "Slurm", "PMI"; for messages
};

using Environment = std::function<const char*(const char* name)>;

// nullopt when no launcher started this process. rendezvous (HOST:PORT, may be empty) overrides where to
// meet. Errors name the variable that is missing or wrong, and what to set.
Result<std::optional<Placement>> find_placement(const Environment& env, const std::string& rendezvous);

// The first host of Slurm's compressed list: "gpu[007-009,12],login" gives "gpu007". Empty when it is none.
std::string first_slurm_host(std::string_view list);

}  // namespace fanin::nccl_perf
