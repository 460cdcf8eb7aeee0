#include "perf/nccl_perf/team.h"

#include <chrono>
#include <cstring>

#include "perf/nccl_perf/packing.h"

namespace fanin::nccl_perf {

Result<std::vector<std::string>> Team::exchange(int thread, const std::string& text) {
  std::unique_lock lock(mutex_);
  mine_[static_cast<size_t>(thread)] = text;
  const uint64_t round = round_;
  if (++arrived_ < threads_) {
    // A failure is not signalled here, so look for one now and then.
    while (round_ == round && !failed()) done_.wait_for(lock, std::chrono::milliseconds(20));
    if (round_ == round) return Error(Errc::kRemote, group_.failure());
    return all_;  // the next round cannot end before this thread takes part in it
  }
  Result<std::vector<std::string>> processes = group_.exchange(pack(mine_));
  if (!processes) {
    group_.fail(processes.error().text());  // no-op when that is why
    done_.notify_all();
    return processes.error();
  }
  all_.clear();
  for (const std::string& p : *processes)
    if (std::optional<std::vector<std::string>> texts = unpack(p))
      all_.insert(all_.end(), texts->begin(), texts->end());
  arrived_ = 0;
  round_++;
  done_.notify_all();
  return all_;
}

Result<std::vector<double>> Team::exchange(int thread, double value) {
  Result<std::vector<std::string>> texts =
      exchange(thread, std::string(reinterpret_cast<const char*>(&value), sizeof value));
  if (!texts) return texts.error();
  std::vector<double> values;
  for (const std::string& t : *texts) {
    double v = 0;
    memcpy(&v, t.data(), std::min(sizeof v, t.size()));
    values.push_back(v);
  }
  return values;
}

Status Team::barrier(int thread) {
  Result<std::vector<std::string>> r = exchange(thread, std::string());
  if (!r) return r.error();
  return {};
}

}  // namespace fanin::nccl_perf
