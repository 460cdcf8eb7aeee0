// What a process holds at a moment, from /proc: for finding leaks. Plain value.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "transport/sanitizers.h"

namespace fanin::test {

struct Footprint {
  size_t descriptors = 0, threads = 0;
  size_t resident_kib = 0;
  // Of pid; 0: of this process. All zero when there is none.
  static Footprint of(pid_t pid = 0);
  // No more descriptors and threads than before; memory is another matter.
  bool within(const Footprint& before) const {
#ifdef FANIN_TSAN
    constexpr size_t kOwn = 1;  // the runtime's, from the first thread that is made on, after a fork anew
#else
    constexpr size_t kOwn = 0;
#endif
    return descriptors <= before.descriptors && threads <= before.threads + kOwn;
  }
  std::string text() const;
};

// Resident memory of pid that is its own, not mapped from files, page by page: the kernel's counters, from which VmRSS comes,
// may be hundreds of KiB behind. 0 when there is none.
size_t anonymous_kib(pid_t pid);

// Names in /dev/shm, and listening TCP ports of this network namespace: what outlives processes.
size_t shared_segments();
size_t listening_ports();

// Polls until f() or the time is up; the last value of f().
bool within(std::chrono::milliseconds patience, const std::function<bool()>& f);

}  // namespace fanin::test
