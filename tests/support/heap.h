// Whether this process lost memory: bytes in use before and after, and LeakSanitizer, which does not look where a process ends by _exit().
#pragma once
#include <malloc.h>

#include <cstddef>

#include "transport/sanitizers.h"

#ifdef FANIN_ASAN
#include <sanitizer/lsan_interface.h>
#endif

namespace fanin::test {

#if defined(FANIN_ASAN) || defined(FANIN_TSAN)
inline constexpr bool kHeapCounted = false;  // malloc is the sanitizer's
#else
inline constexpr bool kHeapCounted = true;
#endif
// Thread stacks that the C library keeps (some 400 bytes each beside the stack), and its loader's tables.
inline constexpr size_t kHeapSlack = 4096;

// In use, of all arenas and of what is mapped alone.
inline size_t heap() {
  const struct mallinfo2 m = mallinfo2();
  return m.uordblks + m.hblkhd;
}

inline bool lost_memory() {
#ifdef FANIN_ASAN
  return __lsan_do_recoverable_leak_check() != 0;
#else
  return false;
#endif
}

}  // namespace fanin::test
