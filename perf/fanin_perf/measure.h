// One size of one run: warm up, time, check. Every rank calls it; all get the same result.
//
// Runs on the progress thread. Iterations follow each other without a barrier, as in a stream; an iteration's
// time is the longest any rank took for it.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>

#include "perf/common/check.h"
#include "perf/common/group.h"
#include "perf/fanin_perf/local_reducers.h"
#include "perf/fanin_perf/memory.h"
#include "perf/fanin_perf/options.h"
#include "perf/fanin_perf/work.h"

namespace fanin::perf {

struct Measurement {
  uint64_t bytes = 0, count = 0;                          // nccl-tests' size and count columns
  double min_s = 0, median_s = 0, p99_s = 0, mean_s = 0;  // per iteration
  double elapsed_s = 0;                                   // of all timed iterations, the slowest rank
  std::optional<uint64_t> wrong;                          // over all ranks; nullopt: not checked
  double workers_cpu_s = 0;                               // all ranks, all threads, all timed iterations …
  double progress_cpu_s = 0;                   // … of which the progress threads, which poll as NCCL's do
  std::optional<double> reducers_cpu_s;        // nullopt: not started here
  std::optional<double> worker_calls_per_mb;   // system calls per 10^6 bytes of one rank's buffer
  std::optional<double> reducer_calls_per_mb;  // per 10^6 bytes of all ranks' buffers
};

class Meter {
 public:
  // reducers may be empty. progress is called on rank 0 with a short text now and then.
  Meter(const Options& options, Group& group, Engine& engine, const LocalReducers& reducers,
        std::function<void(const std::string&)> progress)
      : options_(options),
        group_(group),
        engine_(engine),
        reducers_(reducers),
        progress_(std::move(progress)) {}
  // Allocates and attaches memory for the largest size.
  Status prepare();
  // bytes is rounded down to what the collective can do, at least one element a rank.
  Result<Measurement> run(uint64_t bytes);

 private:
  Work work(uint64_t bytes) const;
  Checker checker() const;
  void fill(const Work& work) const;
  Result<uint64_t> check(const Work& work) const;

  const Options& options_;
  Group& group_;
  Engine& engine_;
  const LocalReducers& reducers_;
  std::function<void(const std::string&)> progress_;
  Memory send_, recv_;
};

// What a size becomes: whole elements, for all-gather and reduce-scatter the same number for each rank.
uint64_t usable_bytes(const Options& options, uint64_t bytes);

}  // namespace fanin::perf
