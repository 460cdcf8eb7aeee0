// Whether something accepts connections at the pool's addresses: all at once, within one deadline. Any thread; blocks.
#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "topology/pool.h"

namespace fanin::doctor {

struct Reached {
  bool yes = false;
  double seconds = 0;  // until it was connected
  std::string error;   // of the last address tried
};
// In the members' order; a member's addresses are tried together, and the first that answers counts.
std::vector<Reached> reach(const std::vector<PoolMember>& members, std::chrono::milliseconds patience);

}  // namespace fanin::doctor
