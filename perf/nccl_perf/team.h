// The ranks of a run as one: this process's threads over the Group of processes. Each rank thread calls the
// same exchanges in the same order; every exchange is also a barrier.
#pragma once
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "fanin/error.h"
#include "perf/nccl_perf/group.h"

namespace fanin::nccl_perf {

class Team {
 public:
  Team(Group& group, int threads) : group_(group), threads_(threads), mine_(static_cast<size_t>(threads)) {}

  int nranks() const { return group_.processes() * threads_; }
  int rank_of(int thread) const { return group_.process() * threads_ + thread; }
  // What every rank said, in rank order. An error when the run has failed.
  Result<std::vector<std::string>> exchange(int thread, const std::string& text);
  Result<std::vector<double>> exchange(int thread, double value);
  Status barrier(int thread);

  void fail(const std::string& why) { group_.fail(why); }
  bool failed() const { return group_.failed(); }

 private:
  Group& group_;
  const int threads_;
  std::mutex mutex_;
  std::condition_variable done_;
  int arrived_ = 0;
  uint64_t round_ = 0;
  std::vector<std::string> mine_, all_;
};

}  // namespace fanin::nccl_perf
