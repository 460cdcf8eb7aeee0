// What a rank of the driver's jobs does: connects through the plugin's C ABI, runs collectives in rounds over
// fanin-perf's engine and checks every element, until told to stop or an error comes; then closes, unloads the
// plugin and looks whether anything is left.
//
// It says lines to the driver (tests/support/process.h): "connecting", then one of "reducers", "fallback: why" or
// "refused: error"; "running" after the first round; "closing"; "right N" or "error: what" in the end. Only what must
// never happen is its failure: wrong results, an error that is not ncclRemoteError, a leak, a slow close.
#pragma once
#include <functional>
#include <string>

#include "tests/faults/board.h"
#include "tests/support/process.h"

namespace fanin::faults {

struct WorkerTask {
  Scenario scenario;
  milliseconds pace{0};                 // between rounds
  std::vector<uint16_t> ports;          // of the pool, as the plugin sees it
  std::function<void(int rank)> enter;  // called first, e.g. to change the network namespace; may be empty
};

test::RankProcesses::Body worker(const WorkerTask& task, Board& board);

}  // namespace fanin::faults
