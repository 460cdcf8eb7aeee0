// No new descriptor while it lives; those that are open stay, and where one of them is closed its number can be had again.
#pragma once
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "tests/support/descriptors.h"
#include "transport/fd.h"

namespace fanin::test {

class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit now = before_;
    // The limit is above all that are open: a number beyond it could not be had again. What lies between is filled.
    const std::vector<int> open = descriptors();
    now.rlim_cur = static_cast<rlim_t>(*std::max_element(open.begin(), open.end())) + 1;
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
