// The command line of nccl-ranks. Constant once parsed; read by every rank.
#pragma once
#include <nccl.h>

#include <string>
#include <vector>

namespace ranks {

// A variable set in one rank's process only.
struct RankVariable {
  int rank;
  std::string name, value;
};

struct Options {
  int ranks = 2, per_node = 1, iterations = 1;
  bool threads = false;     // the ranks of a node are threads of one process
  bool registered = false;  // buffers go through ncclCommRegister
  bool round_once = false;  // small floats must have been rounded only once, as fanin's reducers do
  std::vector<std::string> colls = {"allreduce"}, types = {"f32"}, ops = {"sum"};  // every combination is run
  std::string extra;
  size_t min_bytes = 1024, max_bytes = 1 << 20, factor = 4;
  int kill_pid = 0;  // lose-reducer: killed by rank 0 in mid-run
  std::vector<RankVariable> variables;
};

// Exits with 2 and one line on stderr when the command line is wrong; prints help and exits for -h.
Options parse_options(int argc, char** argv);

}  // namespace ranks
