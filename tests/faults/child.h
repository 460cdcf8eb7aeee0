// A child process whose output can be read while it runs. Killed and reaped when it goes; one thread.
#pragma once
#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/faults/scenario.h"
#include "transport/fd.h"

namespace fanin::faults {

class Child {
 public:
  // With this process's environment but its FANIN_, NCCL_ and CPUDEV_ variables, and with these.
  Child(const std::vector<std::string>& command, const std::map<std::string, std::string>& variables);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  std::string said() const;  // stdout and stderr so far
  // The wait status once it has ended; nullopt when it still runs after that time.
  std::optional<int> wait(milliseconds patience);

 private:
  pid_t pid_ = -1;
  Fd output_;
  std::optional<int> status_;
};

}  // namespace fanin::faults
