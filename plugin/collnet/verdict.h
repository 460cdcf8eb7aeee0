// The one verdict all ranks of a session share: which reducers they use, or none.
//
// decide() is pure: rank 0 calls it on every rank's report, rendezvous.h carries the result to all.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fanin/wire.h"

namespace fanin::plugin::collnet {

// What one rank found when it tried its pool.
struct Report {
  struct Reached {
    wire::ReducerId id{};
    std::string name;   // as this rank's configuration names it
    uint32_t mbps = 0;  // what its NICs that this rank uses carry; 0: unknown
  };
  struct Missed {
    std::string name, why;
  };
  wire::SessionId session{};
  uint32_t rank = 0, nranks = 0;
  std::string host;
  bool configured = false;  // FANIN_REDUCERS is set
  bool strict = false;
  bool measure = false;  // this rank's tuner wants the pool measured
  uint64_t min_slice = 0;
  uint32_t node_mbps = 0;        // what this node's NICs carry together; 0: unknown
  std::string config_error;      // the pool as a whole cannot be used: unparsable, duplicate
  std::vector<Reached> reached;  // in configured order
  std::vector<Missed> missed;
};

struct Verdict {
  bool use = false;
  bool strict = false;                    // some rank asked for FANIN_STRICT: none is an error on every rank
  bool measure = false;                   // all ranks measure the pool (probe.h); rank 0's
  uint64_t min_slice = 0;                 // rank 0's
  std::vector<wire::ReducerId> reducers;  // in rank 0's order
  // Of each reducer, the share of a message it gets: what the slowest rank's way to it carries. Empty where that is not known
  // of all: lanes get equal shares then.
  std::vector<uint32_t> weights;
  uint32_t node_mbps = 0;  // the slowest node's, at rank 0 only: not sent; 0: unknown
  // use: reducers left out and who could not reach them, or ""; none: why. For people.
  std::string reason;
};

// reports: index = rank, complete.
Verdict decide(std::span<const Report> reports);

}  // namespace fanin::plugin::collnet
