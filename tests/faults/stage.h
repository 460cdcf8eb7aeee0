// What surrounds the job of every run, whatever runs the job: a relay where one is needed, the bystander, and
// afterwards the checks of the pool and of what outlives processes.
#pragma once
#include <memory>
#include <string>

#include "tests/faults/bystander.h"
#include "tests/faults/findings.h"
#include "tests/faults/pool.h"
#include "tests/faults/relay.h"

namespace fanin::faults {

class Stage {
 public:
  // host: the address under which the job knows this host.
  Stage(const Scenario& scenario, Pool& pool, std::string host);

  // Starts what is beside the job; notes what does not start.
  void begin(Findings& f);
  Relay* relay() { return relay_.get(); }
  // The pool as the job sees it.
  std::string reducers() const;
  std::vector<uint16_t> ports() const { return relay_ ? relay_->ports() : pool_.ports(); }
  // What the driver's own says of secrets and checksums holds for every job.
  std::map<std::string, std::string> environment() const;
  // Everything that must hold once the job is over and the fault undone; revives reducers.
  void finish(Findings& f);

 private:
  void check_reducers(Findings& f);
  std::string next_job() const;

  const Scenario& s_;
  Pool& pool_;
  const std::string host_;
  size_t segments_, ports_;
  std::unique_ptr<Relay> relay_;
  std::unique_ptr<Bystander> bystander_;
};

}  // namespace fanin::faults
