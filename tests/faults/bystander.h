// The undisturbed session beside the one that is hit, on the reducer that no fault takes down.
#pragma once
#include <memory>
#include <string>

#include "tests/faults/board.h"
#include "tests/faults/worker.h"
#include "tests/support/process.h"

namespace fanin::faults {

class Bystander {
 public:
  explicit Bystander(uint16_t port);
  // True once all its ranks have got results.
  bool runs();
  // It goes on for some rounds, ends, and has been right all the time; else what is wrong.
  std::string finish();

 private:
  static WorkerTask task(uint16_t port);
  const WorkerTask task_;
  SharedBoard board_;
  std::unique_ptr<test::RankProcesses> ranks_;
};

}  // namespace fanin::faults
