// Counts the system calls for I/O that this process makes, the plugin's included.
//
// fanin-perf defines libc's wrappers for reading, writing, polling and waiting itself (syscall_count.cc); the
// plugin's calls bind to them because the program comes first in the loader's search order. Not seen: calls
// libc makes inside (locks, name look-ups) and futexes. Costs one relaxed add per call. Under sanitizers
// nothing is counted.
#pragma once
#include <atomic>
#include <cstdint>
#include <optional>

namespace fanin::perf {

// What the JSON says about the numbers.
inline constexpr const char* kSyscallsCounted =
    "libc wrappers for reading, writing, polling and waiting on descriptors; futexes and calls within libc "
    "are not seen";

// From now on this process counts there (in memory that may be shared with others). The counter must stay
// valid.
void count_syscalls_in(std::atomic<uint64_t>* counter);
// So far, in the counter in use; nullopt where counting is impossible.
std::optional<uint64_t> syscalls_so_far();
bool syscalls_countable();

}  // namespace fanin::perf
