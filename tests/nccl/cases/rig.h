// What the real-NCCL tests stand on: a private network and /dev/shm, pools of reducer processes, and runs of nccl-ranks with
// our plugin. Everything started here is bounded, reaped and killed with the test program.
#pragma once
#include <gtest/gtest.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fanin::test {

using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

// Paths below the build folder ($FANIN_BUILD or build).
std::string built(const std::string& path);

// The test program lives in a network and mount namespace of its own, where it may make one: loopback, two joined
// interfaces nic0 and nic1, an empty /dev/shm. Then no other program disturbs it and nothing can be left behind.
struct Isolation {
  static bool two_nics();               // whether nic0 and nic1 exist
  static const std::string& why_not();  // else
};

// A temporary folder, removed with what is in it.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }
  // Empty where there is none.
  std::string read(const std::string& name) const;
  // All files whose names start so, one after the other.
  std::string read_all(const std::string& prefix) const;

 private:
  std::string path_;
};

// A child process with its output in a file. Killed when it goes.
class Process {
 public:
  Process(const Words& command, const Variables& variables, const std::string& output);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  pid_t pid() const { return pid_; }
  bool running();
  // Waits; false when it had to be killed because time was up.
  bool wait(double seconds);
  int status() const { return status_; }  // of waitpid
  bool exited_with(int code) const;

 private:
  pid_t pid_ = -1;
  bool reaped_ = false;
  int status_ = 0;
};

// A pool of reducers on free ports of this host.
class Pool {
 public:
  explicit Pool(int reducers, int lanes = 2, const Words& options = {});
  // For FANIN_REDUCERS.
  std::string list() const;
  std::string address(size_t reducer) const { return "127.0.0.1:" + std::to_string(members_[reducer].port); }
  pid_t pid(size_t reducer) const { return members_[reducer].process->pid(); }
  // Sends SIGTERM; every reducer must drain and exit with 0. Those killed by the test are left out.
  void stop();
  // After stop(), from the reducers' last lines, summed.
  uint64_t received() const { return sum("received"); }
  uint64_t summed() const { return sum("summed"); }
  uint64_t received(size_t reducer) const;
  std::string output(size_t reducer) const;

 private:
  struct Member {
    std::unique_ptr<Process> process;
    int port = 0;
  };
  uint64_t sum(const std::string& what) const;
  Folder folder_;
  std::vector<Member> members_;
};

// One run of nccl-ranks.
class Ranks {
 public:
  // arguments: of nccl-ranks, in one string.
  Ranks(const std::string& arguments, const Variables& variables);
  // False when it took too long.
  bool wait(double seconds);
  bool good() const { return process_->exited_with(0); }
  std::string output() const { return folder_.read("out"); }
  std::string log() const { return folder_.read_all("nccl."); }
  std::string hash() const;  // of all results' bits
  // Everything a person needs to see when a test fails.
  std::string story() const;

 private:
  Folder folder_;
  std::unique_ptr<Process> process_;
  std::string command_;
};

// Variables for a run with our net; with CollNet through a pool when there is one.
Variables with_net(const Variables& more = {});
Variables with_pool(const Pool& pool, const Variables& more = {});

// Runs to the end and expects right results, and nothing left behind. Returns the hash.
std::string expect_right(const std::string& arguments, const Variables& variables, double seconds = 60);
// The same through a pool: expects too that NCCL says it used the algorithm and that reducers got data.
std::string expect_through(int reducers, const std::string& algorithm, const std::string& arguments,
                           const Variables& more = {}, double seconds = 60);

size_t count(const std::string& text, const std::string& part);

// Base of all suites: allows more time than the watchdog's default and reaps.
class NcclTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;
};

}  // namespace fanin::test
