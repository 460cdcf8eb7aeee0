// Reducers for a run on one machine: the reducer library in processes of their own, on loopback.
//
// start() forks, so call it before any thread exists. Ranks forked later inherit the object and may read the
// counters; only the process that started them ends them. They also end when that process dies.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fanin/error.h"

namespace fanin::perf {

class LocalReducers {
 public:
  static Result<LocalReducers> start(int count, unsigned lanes);
  LocalReducers() = default;
  LocalReducers(LocalReducers&& o) noexcept { *this = std::move(o); }
  LocalReducers& operator=(LocalReducers&& o) noexcept;
  ~LocalReducers();  // SIGTERM, then SIGKILL after two seconds

  int count() const { return static_cast<int>(pids_.size()); }
  // For FANIN_REDUCERS.
  const std::string& list() const { return list_; }
  // CPU seconds of all of them so far.
  double cpu_seconds() const;
  std::optional<uint64_t> syscalls() const;

 private:
  pid_t owner_ = 0;
  std::vector<pid_t> pids_;
  std::string list_;
  std::atomic<uint64_t>* syscalls_ = nullptr;  // shared memory, one cache line per reducer
};

}  // namespace fanin::perf
