// Keeps a session's connection out of the processes that the host forks (DataLoader workers): a child that held it open
// would hide this process's death from the reducer, and what the child closes must not end its parent's session.
//
// While it lives, its descriptor is replaced by /dev/null in every child made by fork(); the number stays taken there. To
// be gone before the descriptor is closed. Any thread; the list is locked while a process forks.
#pragma once

namespace fanin::plugin {

class ForkGuard {
 public:
  explicit ForkGuard(int fd);
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

 private:
  static void in_child();
  const int fd_;
  ForkGuard* next_;
  ForkGuard** at_;  // what points to this one
};

}  // namespace fanin::plugin
