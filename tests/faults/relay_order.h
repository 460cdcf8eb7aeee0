// What the driver tells its relay to do to the traffic. Sent as it is over a socket pair.
#pragma once
#include <cstdint>

#include "tests/faults/scenario.h"

namespace fanin::faults {

struct RelayOrder {
  enum class What : uint8_t {
    kPass,  // undisturbed from now on; what was stalled goes on
    // One connection, once `at_byte` bytes have passed in the direction `flow`:
    kCut,        // both sides are closed
    kReset,      // both sides are reset
    kHalfClose,  // nothing more in this direction but its end
    kStall,      // nothing more in this direction
    // All connections, both directions:
    kDelay,   // every piece waits `delay_us`, half to one and a half times
    kCrumbs,  // a few bytes at a time
  };
  What what = What::kPass;
  Flow flow = Flow::kUp;
  bool fresh = false;  // connection: of those to come; else of those there are, modulo their number
  uint32_t connection = 0;
  uint64_t at_byte = 0;  // fresh: from the connection's start; else from now
  uint32_t delay_us = 0;
  uint64_t seed = 0;
};

}  // namespace fanin::faults
