// The open descriptors of a process, from /proc: for finding leaks and for setting limits.
#pragma once
#include <dirent.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace fanin::test {

// Their numbers, in no order; without the one used for looking. pid 0: of this process. None when there is no such process.
inline std::vector<int> descriptors(pid_t pid = 0) {
  std::vector<int> fds;
  DIR* dir = ::opendir(("/proc/" + (pid == 0 ? std::string("self") : std::to_string(pid)) + "/fd").c_str());
  if (!dir) return fds;
  while (const dirent* e = ::readdir(dir))
    if (const int fd = atoi(e->d_name); e->d_name[0] != '.' && (pid != 0 || fd != ::dirfd(dir)))
      fds.push_back(fd);
  ::closedir(dir);
  return fds;
}

// The least limit on descriptors that is above all that are open: one below could not be had again.
inline rlim_t limit_in_use(pid_t pid = 0) {
  const std::vector<int> open = descriptors(pid);
  return static_cast<rlim_t>(*std::max_element(open.begin(), open.end())) + 1;
}

inline size_t open_descriptors() { return descriptors().size(); }

// Of those, sockets: other threads of the process open files for moments (malloc reads how many processors there are). By
// their names, since other threads may close them meanwhile.
inline size_t open_sockets() {
  const std::vector<int> fds = descriptors();
  return static_cast<size_t>(std::count_if(fds.begin(), fds.end(), [](int fd) {
    char what[32] = "";
    return ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), what, sizeof what - 1) > 0 &&
           std::string_view(what).starts_with("socket:");
  }));
}

}  // namespace fanin::test
