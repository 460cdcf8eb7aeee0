// What a group of warps does on a GPU, as a state machine that never blocks: a sequence of primitive
// operations over some receiving and some sending links. One thread.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "tests/nccl/device/kernel/link.h"

namespace cpudev {

template <class T>
constexpr T div_up(T a, T b) {
  return (a + b - 1) / b;
}
template <class T>
constexpr T round_up(T a, T b) {
  return div_up(a, b) * b;
}

// One primitive: waits for a slot of every link it uses, moves data, hands the slots on; slice by slice.
struct Op {
  bool recv = false, send = false;
  int64_t elements = 0;
  // (slice's offset and elements, received slots, slots to send, bytes announced per sending link)
  std::function<void(int64_t, int64_t, char**, char**, int64_t*)> move;
  bool whole_step = false;  // move() is called even for nothing and sets the sizes itself
};

struct Group {
  int slices_per_chunk = 1, steps_per_slice = 1;
  int64_t step_elements = 0;  // elements in one buffer step
  size_t element_size = 1;
  bool ll = false;  // LL instead of Simple: one slice, one step per operation
  std::vector<Link> recv, send;
  std::function<bool(Op&)> next;  // fills in the next operation; false: there is none
  std::function<bool()> custom;   // instead of operations: true when finished

  bool finished = false;
  // Does what can be done now; true if something moved.
  bool poke();

 private:
  bool poke_ll();
  bool poke_slice();
  bool links_ready(int steps);

  Op op_;
  bool have_ = false;
  int slice_ = 0;
  int64_t offset_ = 0, slice_elements_ = 0;
};

}  // namespace cpudev
