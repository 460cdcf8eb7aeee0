// One set of figures for all ranks of a communicator, through the first reducer of the pool that can be reached
// (fanin/figures.h).
//
// Why ranks cannot decide differently: the reducer tells figures only when all ranks have asked it. A rank decides by itself
// ("nothing is changed") only before it has asked, and then no rank can get figures; once it has asked it does what it is told,
// or fails. Blocks, bounded by about 15 s; the thread that makes the communicator.
#pragma once
#include <optional>
#include <string>

#include "fanin/error.h"
#include "fanin/figures.h"
#include "plugin/options.h"
#include "plugin/tuner/model.h"

namespace fanin::plugin::tuner {

struct Question {
  uint64_t communicator = 0;  // equal on all its ranks
  Shape shape;
  uint64_t settings =
      0;  // a hash of what else decides (rules, model); ranks that differ do not come together
  std::optional<wire::PoolFigures> measured;
};

struct Agreed {
  bool all = false;                // every rank has the same from here
  std::optional<Figures> figures;  // all: null when no rank had measured
  std::string why;                 // not all
};

Result<Agreed> agree(const Options& options, const Question& question);

}  // namespace fanin::plugin::tuner
