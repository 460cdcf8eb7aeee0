// No new descriptor while it lives; those that are open stay, and where one of them is closed it can be had again.
#pragma once
#include <sys/resource.h>
#include <unistd.h>

namespace fanin::test {

class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit now = before_;
    const int lowest = ::dup(0);
    ::close(lowest);
    now.rlim_cur = static_cast<rlim_t>(lowest);
    setrlimit(RLIMIT_NOFILE, &now);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

}  // namespace fanin::test
