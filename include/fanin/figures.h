// How all ranks of one NCCL communicator come to the same figures of their pool: each asks one reducer, which answers when
// all have asked. docs/protocol.md has the reasons.
//
//   rank                                   reducer
//   Hello, lane kFiguresLane  ------------>          handshake as for a lane, proofs included; session names the communicator
//          <-----------------------------  Welcome
//   FiguresAsk  -------------------------->
//          <-----------------------------  FiguresAnswer, to all ranks at once; then it closes
//
// Little-endian, fixed sizes.
#pragma once
#include <chrono>
#include <cmath>

#include "fanin/wire.h"

namespace fanin::wire {

// No lane: the connection asks for figures.
inline constexpr uint32_t kFiguresLane = 0x80000000;
// How long a rank's question waits for the others' before it is answered that not all ranks have asked.
inline constexpr std::chrono::milliseconds kFiguresPatience{8000};

// Microseconds, and bytes per microsecond. All finite and above 0.
struct PoolFigures {
  float small_us, chunk_us, pool_rate, link_rate;
  bool possible() const {
    for (const float f : {small_us, chunk_us, pool_rate, link_rate})
      if (!std::isfinite(f) || f <= 0) return false;
    return true;
  }
};

struct FiguresAsk {
  Preamble preamble;
  uint32_t measured;  // 1: figures are this rank's; 0: it has measured nothing and they are 0
  uint32_t reserved;  // 0
  PoolFigures figures;
};
static_assert(sizeof(FiguresAsk) == 32);

struct FiguresAnswer {
  Preamble preamble;
  uint32_t agreed;      // 1: every rank gets this answer; 0: not all have asked
  uint32_t measured;    // ranks that had figures
  PoolFigures figures;  // of those: the longest times and the least rates; 0 where measured is
};
static_assert(sizeof(FiguresAnswer) == 32);

}  // namespace fanin::wire
