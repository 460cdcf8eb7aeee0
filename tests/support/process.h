// Processes for end-to-end tests: the real fanin-reducer, and ranks as forked children of the test.
//
// Everything is owned: destructors kill and reap what still runs. Nothing here sleeps for a fixed time;
// waiting is bounded by the caller. Use from the test's main thread (fork).
#pragma once
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "perf/common/group.h"
#include "tests/support/program.h"
#include "transport/fd.h"

namespace fanin::test {

using std::chrono::milliseconds;

// A fanin-reducer on a free port of loopback, or where more says --listen. Failing to start aborts the test program with the reducer's own
// words.
class ReducerProcess {
 public:
  explicit ReducerProcess(unsigned lanes = 2, const std::vector<std::string>& more = {});
  ReducerProcess(ReducerProcess&& o) noexcept;
  ReducerProcess& operator=(ReducerProcess&&) = delete;
  ~ReducerProcess();

  pid_t pid() const { return pid_; }
  std::string address() const;  // "127.0.0.1:port"
  uint16_t port() const { return port_; }
  void signal(int number) const;
  // The wait status once it has ended; nullopt when it still runs after that time.
  std::optional<int> wait(milliseconds patience);
  bool running() { return !wait(milliseconds(0)); }
  // What it wrote to stderr so far.
  std::string said() const;

 private:
  pid_t pid_ = -1;
  uint16_t port_ = 0;
  std::optional<int> status_;
  Fd stderr_;
};

// "a,b,c" for FANIN_REDUCERS.
std::string pool_of(const std::vector<ReducerProcess>& reducers);

// In a rank's process: who it is, and its line to the test.
class Rank {
 public:
  Rank(int rank, int nranks, std::function<perf::Group&()> group, int report)
      : rank_(rank), nranks_(nranks), group_(std::move(group)), report_(report) {}
  int rank() const { return rank_; }
  int nranks() const { return nranks_; }
  perf::Group& group() { return group_(); }
  // A line for the test (no newline in it).
  void say(const std::string& line) const;

 private:
  int rank_, nranks_;
  std::function<perf::Group&()> group_;
  int report_;
};

// What became of a rank.
struct Outcome {
  std::string failure;             // what body returned; "killed by signal N"; "still running"
  std::vector<std::string> lines;  // what it said
  std::chrono::steady_clock::time_point ended;
};

// nranks forked processes that run body; "" from body is success. env is set in each child before body.
class RankProcesses {
 public:
  using Body = std::function<std::string(Rank&)>;
  using Env = std::map<std::string, std::string>;
  RankProcesses(int nranks, Env env, Body body);
  RankProcesses(const RankProcesses&) = delete;
  RankProcesses& operator=(const RankProcesses&) = delete;
  ~RankProcesses();

  pid_t pid(int rank) const { return ranks_[static_cast<size_t>(rank)].pid; }
  // True once that rank has said that line; false when it ended without, or after that time.
  bool wait_for(int rank, const std::string& line, milliseconds patience);
  // True once that rank has ended; false when it still runs after that time.
  bool wait_end(int rank, milliseconds patience);
  // Waits for all, kills those still running then, and returns what became of each.
  std::vector<Outcome> wait(milliseconds patience);

 private:
  struct Process {
    pid_t pid;
    Fd report;
    std::string text;  // unfinished line
    Outcome outcome;
    bool ended = false;
  };
  void read(Process& p);
  std::vector<Process> ranks_;
};

// Runs body on nranks processes and returns "" or every failure, one a line.
std::string run_ranks(int nranks, RankProcesses::Env env, RankProcesses::Body body,
                      milliseconds patience = milliseconds(30000));

}  // namespace fanin::test
