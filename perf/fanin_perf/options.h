// fanin-perf's command line. A plain value; nothing is read after parse_options.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "fanin/dtype.h"
#include "fanin/error.h"
#include "transport/tcp/address.h"

namespace fanin::perf {

struct Options {
  // Who takes part: nranks processes here, or this process as one rank of them.
  int nranks = 2;
  std::optional<int> rank;
  tcp::HostPort rendezvous;  // of rank 0; with rank only
  // The pool: local_reducers processes here, or the list as in FANIN_REDUCERS, or neither: what the
  // environment says.
  int local_reducers = 0;
  unsigned lanes = 1;  // of each local reducer
  std::string reducers;

  bool ring = false;
  Coll coll = Coll::kAllReduce;
  DType type = DType::kF32;
  RedOp op = RedOp::kSum;
  uint64_t begin = 64 << 10, end = 64 << 20;
  unsigned factor = 4;
  int iters = 20, warmup = 5;
  bool check = true;
  bool in_place = false;
  bool crowded = false;  // with rank; local ranks are counted
  unsigned channels = 2;
  bool whole = false;  // fanin: one call of the plugin per collective instead of NCCL's chunks
  std::chrono::milliseconds patience{60000};
  std::string plugin;  // path
  std::string json;    // path; empty: none
  bool verbose = false;
};

// What to do, or the exit code when --help or --version was all (printed already).
struct ParsedOptions {
  Options options;
  std::optional<int> exit_code;
};
// Errors are one line for stderr; the exit code is then 2.
Result<ParsedOptions> parse_options(int argc, char** argv);

}  // namespace fanin::perf
