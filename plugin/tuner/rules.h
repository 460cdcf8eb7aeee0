// FANIN_TUNER_FILE: a person's own choices, in the CSV form of NCCL's example tuner:
//
//   collective,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks[,numPipeOps[,regBuff]]
//   allreduce,0,65536,tree,ll,-1,-1,-1
//
// -1 means any (channels: NCCL's own number); max_bytes 4294967295 means no limit. Lines that begin with # and the heading
// are skipped. Immutable once parsed.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fanin::plugin::tuner {

struct Rule {
  int collective = 0, algorithm = 0, protocol = 0;  // NCCL's numbers
  uint64_t min_bytes = 0, max_bytes = 0;
  int channels = -1, nodes = -1, ranks = -1, pipe_ops = -1, reg_buff = -1;
};

struct Call {
  int collective = 0;
  uint64_t bytes = 0;
  uint64_t nodes = 0, ranks = 0;
  int pipe_ops = 0, reg_buff = 0;
};
bool matches(const Rule& rule, const Call& call);

struct Rules {
  std::vector<Rule> rules;            // in the file's order
  std::vector<std::string> mistakes;  // "line 3: ...": these lines have no effect
};
Rules parse_rules(std::string_view text);

}  // namespace fanin::plugin::tuner
