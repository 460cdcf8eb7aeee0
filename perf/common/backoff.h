// What a progress thread does when nothing happened: spin, then give up its time slice as NCCL's proxy does,
// and where more ranks than cores share the machine, sleep for some microseconds so that the others get on.
//
// Plain state of one thread. Makes its system calls itself, unseen by the call counter (syscall_count.h):
// they are the harness's, not the plugin's.
#pragma once
#include <sched.h>
#include <time.h>

namespace fanin::perf {

class Backoff {
 public:
  explicit Backoff(bool crowded) : crowded_(crowded) {}
  void progressed() { idle_ = 0; }
  void idle() {
    if (++idle_ < 16) return;
    if (crowded_ && idle_ > 64) {
      timespec t{0, 20'000};
      ::nanosleep(&t, nullptr);
    } else {
      ::sched_yield();
    }
  }

 private:
  bool crowded_;
  unsigned idle_ = 0;
};

}  // namespace fanin::perf
