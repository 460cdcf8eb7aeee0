// What the driver and the ranks it forked share: progress of each rank, the round to end with, orders to ranks.
//
// In an anonymous shared mapping made before the forks. A job's ranks work in step: no rank is more than one round
// ahead of rank 0, so rank 0 ends all of them in the same round by writing its number down before it takes part in it.
#pragma once
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

#include "tests/faults/scenario.h"

namespace fanin::faults {

struct Board {
  enum Order : uint32_t { kNone, kExit, kAbort, kShut };
  static constexpr uint32_t kNever = UINT32_MAX;
  std::atomic<bool> stop{false};           // the driver to rank 0: end soon
  std::atomic<uint32_t> last{kNever};      // rank 0 to all: the last round
  std::atomic<uint32_t> round[kMaxRanks];  // completed
  std::atomic<uint32_t> order[kMaxRanks];  // the driver to a rank
};

// Owner of the mapping.
class SharedBoard {
 public:
  SharedBoard() {
    void* p = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) abort();
    board_ = new (p) Board{};
  }
  ~SharedBoard() { munmap(board_, sizeof(Board)); }
  SharedBoard(const SharedBoard&) = delete;
  SharedBoard& operator=(const SharedBoard&) = delete;
  Board* operator->() const { return board_; }
  Board& operator*() const { return *board_; }

 private:
  Board* board_;
};

}  // namespace fanin::faults
