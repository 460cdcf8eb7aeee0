// fanin-nccl-perf's command line: nccl-tests' options where they make sense, and ours. Plain values.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fanin/dtype.h"
#include "perf/common/check_values.h"

namespace fanin::nccl_perf {

// Exit codes of the program.
inline constexpr int kExitOk = 0, kExitWrong = 1, kExitUsage = 2, kExitFailed = 3;

struct Options {
  Coll coll = Coll::kAllReduce;
  uint64_t min_bytes = 32 << 20, max_bytes = 32 << 20, step_bytes = 1 << 20;
  uint64_t step_factor = 1;  // above 1: sizes are multiplied instead of stepped
  int iters = 20, warmup = 5, agg_iters = 1;
  int checks = 1;          // iterations whose result is checked; 0: none
  int average = 1;         // over ranks: 0 rank 0, 1 mean, 2 minimum, 3 maximum
  int timeout_s = 0;       // 0: for ever
  int gpus = 1;            // per process (nccl-tests' -t times -g); with nodes, per node
  int nodes = 0;           // 0: not given
  bool processes = false;  // with nodes: a process per GPU instead of a thread
  bool blocking = false, cputime = false, register_buffers = false;
  bool all_types = false;  // types the hardware cannot reduce are then left out instead of failing
  std::vector<DType> types{DType::kF32};
  std::vector<perf::CheckOp> ops{perf::CheckOp::kSum};
  std::string rendezvous, json;
  std::vector<std::string> argv;  // as given, for the report
};

struct ParsedOptions {
  std::optional<Options> options;  // nullopt: the program ends with exit_code
  int exit_code = kExitOk;
  std::string message;  // help or version (exit code 0) or one line of error (exit code 2), with its line end
};
ParsedOptions parse_options(int argc, const char* const* argv);

// The sizes to run, in bytes, ascending.
std::vector<uint64_t> sizes(const Options& o);

}  // namespace fanin::nccl_perf
