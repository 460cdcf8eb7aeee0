// What one communicator's collectives run over: the reducers from a size on, NCCL's own choice below.
//
// All ranks of a communicator must decide alike, or NCCL hangs. A decision is a pure function of the call and of what
// was fixed at init: shape, figures and rules, which are equal on all ranks. What NCCL lets this communicator use is in
// its cost table, which is equal too; a communicator without a session has nothing of ours there, and nothing changes.
// init on whichever thread makes the communicator, decide on those that launch its collectives; nothing is written after init.
#pragma once
#include <optional>
#include <string>

#include "fanin/error.h"
#include "plugin/options.h"
#include "plugin/tuner/cost_table.h"
#include "plugin/tuner/model.h"
#include "plugin/tuner/rules.h"

namespace fanin::plugin::tuner {

class Tuner {
 public:
  // Changes nothing for any collective.
  Tuner() = default;
  Tuner(const Shape& shape, uint64_t from_bytes, std::vector<Rule> rules)
      : shape_(shape), from_bytes_(from_bytes), model_(true), rules_(std::move(rules)) {}

  // v3 and later. *channels is set only by a rule.
  void decide(Call call, CostTable costs, int* channels) const;

  // v2: the table is not shown, so only what is surely there is chosen, and nothing where NCCL_PROTO is set (from v3 on
  // the table shows what that leaves). An algorithm below 0: NCCL's own.
  struct Choice {
    int algorithm = -1, protocol = -1, channels = 0;
  };
  Choice decide(Call call, bool collnet) const;

  uint64_t from_bytes() const { return from_bytes_; }

 private:
  void fill(Call& call) const;

  Shape shape_;
  uint64_t from_bytes_ = kNever;
  bool model_ = false;
  std::vector<Rule> rules_;
};

// Reads the options, the file and the environment, and says in one line of the log what will be done. communicator: its id,
// by which its ranks agree on what was measured (agreement.h); without it, figures are assumed. Blocks. An error: this rank
// cannot know what the others do, and must not go on.
Result<Tuner> make_tuner(const Options& options, const Shape& shape,
                         std::optional<uint64_t> communicator = {});

}  // namespace fanin::plugin::tuner
