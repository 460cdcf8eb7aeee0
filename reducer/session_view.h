// What a reducer tells about its sessions at a moment: for status pages and tools. Plain values.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace fanin {

// One session on one lane, as the lane saw it between two turns of its loop.
struct LaneSessionView {
  uint32_t lane = 0;
  uint32_t connections = 0;                      // ranks connected to this lane
  uint64_t bytes_in = 0, bytes_out = 0;          // payload
  uint64_t bytes_reduced = 0;                    // results made by summing
  uint64_t slices = 0;                           // completed
  uint64_t message = 0;                          // the last one begun
  uint64_t blocks_waiting = 0;                   // begun and not complete
  std::chrono::steady_clock::duration waited{};  // some ranks have waited for others so long; zero: none do
  std::string awaited;                           // whom they wait for: "rank 3 (10.0.0.7:41234)"
};

struct SessionView {
  std::string name;     // the first 32 bits of its id: enough to find it in logs, too little to join it
  uint64_t serial = 0;  // unique in this reducer
  uint32_t nranks = 0;
  uint64_t memory = 0;  // bytes of --memory
  std::string secret;   // the name of the one its ranks proved, or ""
  uint64_t connections = 0;
  std::chrono::steady_clock::duration age{};
  std::string broken;  // why it was aborted, or ""
  std::vector<LaneSessionView> lanes;
};

}  // namespace fanin
