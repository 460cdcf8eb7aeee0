// A child process for tests: one of the built programs, with its output in pipes and a bounded life.
//
// stdout and stderr are read to their end by wait(); the child is killed if it still runs when the object goes, and dies with
// the test process. The environment is the test's without FANIN_* and NCCL_*, plus what is given.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "transport/fd.h"

namespace fanin::test {

// $FANIN_BUILD (or ./build) + "/" + path.
std::string built(const std::string& path);

class Program {
 public:
  struct Outcome {
    int exit_code = -1;  // -1: ended by `signal`, or did not end in time
    int signal = 0;
    std::string out, err;
  };

  Program(const std::string& file, const std::vector<std::string>& args,
          const std::vector<std::string>& environment = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  void kill(int signal);
  // Reads stderr until `text` is in it (and returns what was read so far), or fails the test.
  std::string wait_for(const std::string& text,
                       std::chrono::milliseconds limit = std::chrono::milliseconds(10000));
  Outcome wait(std::chrono::milliseconds limit = std::chrono::milliseconds(10000));

 private:
  bool read_some(int timeout_ms);

  pid_t pid_ = -1;
  Fd out_, err_;
  Outcome outcome_;
};

}  // namespace fanin::test
