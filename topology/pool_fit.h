// Whether a pool is large enough for its workers, in the words that the plugin's log, fanin-doctor and fanin-topo share.
// Pure.
#pragma once
#include <string>

namespace fanin {

struct PoolFit {
  unsigned nodes = 0;     // that reduce together; at least 2
  double node = 0;        // bits per second of one node's NICs together, each way
  unsigned reducers = 0;  // at least 1
  double pool = 0;        // bits per second of all reducers' NICs together

  bool loses() const;            // to the nodes' ring (sizing::loses)
  bool below_the_nodes() const;  // more reducers would be faster

  // "the pool is too small: 2 reducers have 200 Gbit/s together, 66.7 % of what 3 nodes with 100 Gbit/s each have; below
  // 75.0 % a ring is faster"; without the beginning where it does not lose. note: where the nodes' figure is from, or "".
  std::string text(const std::string& note = "") const;
  // "3 such reducers beat the ring, 4 have the nodes' bandwidth"
  std::string remedy() const;
  // "fanin-topo plan --workers 3 --worker-bw 100G --reducer-bw 100G --reducers 2", which shows it all.
  std::string command() const;
};

}  // namespace fanin
