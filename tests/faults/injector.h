// Does the fault of a scenario to a running job, and undoes it.
#pragma once
#include <functional>
#include <optional>

#include "tests/faults/network.h"
#include "tests/faults/pool.h"
#include "tests/faults/relay.h"
#include "tests/faults/scenario.h"

namespace fanin::faults {

class Injector {
 public:
  // network: null where there are no links. relay: null unless the scenario is proxied. signal: to the rank that is the victim. order: to it, from Board.
  Injector(const Scenario& scenario, Network* network, Pool& pool, Relay* relay,
           std::function<void(int)> signal, std::function<void(uint32_t)> order)
      : s_(scenario),
        network_(network),
        pool_(pool),
        relay_(relay),
        signal_(std::move(signal)),
        order_(std::move(order)) {}

  // Before the ranks start: relay faults that hit a handshake must be in place.
  void prepare();
  void strike();
  // What ends by itself is ended after its time; for the others, once the survivors have ended.
  void undo();
  // Whether it hit anything (the relay's traps may not be reached).
  bool struck();

 private:
  void trap(RelayOrder::What what, bool fresh);

  const Scenario& s_;
  Network* const network_;
  Pool& pool_;
  Relay* const relay_;
  const std::function<void(int)> signal_;
  const std::function<void(uint32_t)> order_;
};

}  // namespace fanin::faults
