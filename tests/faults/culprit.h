// Whether an error names somebody, and the right one. Pure functions of the object.
#pragma once
#include <string>
#include <vector>

#include "tests/faults/scenario.h"

namespace fanin::faults {

class Culprit {
 public:
  // reducers: the list of the job's FANIN_REDUCERS.
  Culprit(const Scenario& scenario, const std::string& reducers);
  // The rank or reducer that the fault hit. For faults of a connection: any reducer, or a rank as the reducer sees it.
  bool named_in(const std::string& text) const;
  // Any rank but the one that speaks, or any reducer.
  bool anyone_named_in(const std::string& text, int speaker) const;

 private:
  bool reducer_in(const std::string& text) const;
  const Scenario& s_;
  std::vector<std::string> reducers_;
};

}  // namespace fanin::faults
