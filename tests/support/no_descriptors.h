// No new descriptor while it lives; those that are open stay, and where one of them is closed its number can be had again.
#pragma once
#include <sys/resource.h>
#include <unistd.h>

#include <vector>

#include "tests/support/descriptors.h"
#include "transport/fd.h"

namespace fanin::test {

class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit now = before_;
    now.rlim_cur = limit_in_use();  // what lies below it is filled
    setrlimit(RLIMIT_NOFILE, &now);
    for (Fd fd(::dup(0)); fd; fd = Fd(::dup(0))) fill_.push_back(std::move(fd));
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
  std::vector<Fd> fill_;
};

}  // namespace fanin::test
