// What a communicator did in its life: the line in NCCL's log, and the object in FANIN_STATS_FILE. Plain values.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace fanin::plugin::collnet {

struct CommStats {
  // How often a reducer was the last to answer, of the messages that several lanes shared.
  struct Reducer {
    std::string name;
    uint32_t lanes = 0;
    uint64_t last = 0;
  };
  std::string session;  // as the reducers' logs name it
  uint32_t rank = 0, nranks = 1;
  std::chrono::nanoseconds life{};
  uint64_t messages = 0, completed = 0;                   // posted; of these with their result
  uint64_t bytes = 0;                                     // of the completed ones
  std::chrono::nanoseconds mean{}, p50{}, p99{}, most{};  // from the call to its result being told
  std::vector<Reducer> reducers;
  std::string failure;  // of the session, or ""

  // The one that was last most often; null: no message was shared, or there is but one reducer.
  const Reducer* slowest() const;
};

// "17 messages, 1.2 GiB, …": what follows "rank 0 of 4 closed after 12.3 s: ".
std::string summary_of(const CommStats& stats);
// One object on one line, with the newline. when: seconds since 1970.
std::string json_of(const CommStats& stats, double when, const std::string& host, int pid);

}  // namespace fanin::plugin::collnet
