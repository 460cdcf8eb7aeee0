// Holds code to the thread that docs/architecture.md says it runs on.
//
// An owner has one; it belongs to the first thread that calls check(), and a check() on any other thread aborts with the
// name given. release() hands it over: the next check() binds it anew (after the thread was joined, say). Nothing but an
// empty object in ordinary builds; see transport/sanitizers.h for those where it works.
#pragma once
#include "transport/sanitizers.h"

#ifdef FANIN_CHECKED
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#endif

namespace fanin {

class ThreadChecker {
 public:
#ifdef FANIN_CHECKED
  explicit ThreadChecker(const char* what) : what_(what) {}
  void check() const {
    const pthread_t me = ::pthread_self();
    pthread_t owner{};
    if (owner_.compare_exchange_strong(owner, me, std::memory_order_relaxed) || ::pthread_equal(owner, me))
      return;
    fprintf(stderr, "fanin: %s is used on a thread that does not own it\n", what_);
    abort();
  }
  void release() { owner_.store(pthread_t{}, std::memory_order_relaxed); }

 private:
  const char* const what_;
  mutable std::atomic<pthread_t> owner_{};
#else
  explicit ThreadChecker(const char*) {}
  void check() const {}
  void release() {}
#endif
};

}  // namespace fanin
