// The pools of a driver: one for each patience, made when first asked for and renewed after a number of runs. One thread.
#pragma once
#include <cstdint>
#include <map>
#include <memory>

#include "tests/faults/pool.h"

namespace fanin::faults {

class Pools {
 public:
  // life: how many runs share reducers.
  explicit Pools(uint64_t life) : life_(life) {}

  // The pool for this run.
  Pool& of(const Scenario& scenario);
  // After a run that went wrong: what is left in its pool would be told again.
  void discard(const Scenario& scenario);
  // Ends all as a user would; "" or who did not end well, of those too that were renewed.
  std::string end();

 private:
  struct Used {
    std::unique_ptr<Pool> pool;
    uint64_t runs = 0;
  };
  const uint64_t life_;
  std::map<const Patience*, Used> used_;
  std::string bad_;
};

}  // namespace fanin::faults
