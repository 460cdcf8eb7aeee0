// No new descriptor while it lives; those that are open stay, and where one of them is closed its number can be had again.
#pragma once
#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "transport/fd.h"

namespace fanin::test {

class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit now = before_;
    // The limit is above all that are open: a number beyond it could not be had again. What lies between is filled.
    now.rlim_cur = highest() + 1;
    setrlimit(RLIMIT_NOFILE, &now);
    for (Fd fd(::dup(0)); fd; fd = Fd(::dup(0))) fill_.push_back(std::move(fd));
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  static rlim_t highest() {
    rlim_t most = 0;
    if (DIR* d = ::opendir("/proc/self/fd")) {
      while (const dirent* e = ::readdir(d)) most = std::max<rlim_t>(most, strtoull(e->d_name, nullptr, 10));
      ::closedir(d);
    }
    return most;
  }

  rlimit before_{};
  std::vector<Fd> fill_;
};

}  // namespace fanin::test
