#include "tests/nccl/device/kernel/group.h"

#include <algorithm>

namespace cpudev {

bool Group::links_ready(int steps) {
  if (op_.send)
    for (Link& l : send)
      if (!l.ready(steps)) return false;
  if (op_.recv && !ll)
    for (Link& l : recv)
      if (!l.ready(steps)) return false;
  return true;
}

// False: not ready.
bool Group::poke_ll() {
  const size_t lines = div_up<size_t>(static_cast<size_t>(op_.elements) * element_size, 8);
  if (!links_ready(1)) return false;
  if (op_.recv)
    for (Link& l : recv)
      if (!l.lines_ready(lines)) return false;
  char *in[abi::kNvlsArity], *out[abi::kNvlsArity];
  int64_t bytes[abi::kNvlsArity];
  if (op_.recv)
    for (size_t i = 0; i < recv.size(); i++) in[i] = reinterpret_cast<char*>(recv[i].plain().data());
  if (op_.send)
    for (size_t i = 0; i < send.size(); i++) {
      send[i].plain().assign(lines, 0);
      out[i] = reinterpret_cast<char*>(send[i].plain().data());
    }
  if (op_.elements > 0) op_.move(0, op_.elements, in, out, bytes);
  if (op_.recv)
    for (Link& l : recv) l.lines_done();
  if (op_.send)
    for (Link& l : send) l.send_lines(lines);
  have_ = false;
  return true;
}

bool Group::poke_slice() {
  if (!links_ready(steps_per_slice)) return false;
  const int64_t n = std::min(slice_elements_, op_.elements - offset_);
  slice_elements_ = n;
  char *in[abi::kNvlsArity], *out[abi::kNvlsArity];
  int64_t bytes[abi::kNvlsArity];
  if (op_.recv)
    for (size_t i = 0; i < recv.size(); i++) in[i] = recv[i].slot();
  if (op_.send)
    for (size_t i = 0; i < send.size(); i++) {
      out[i] = send[i].slot();
      bytes[i] = n * static_cast<int64_t>(element_size);
    }
  if (n > 0 || op_.whole_step) op_.move(offset_, n, in, out, bytes);
  if (op_.recv)
    for (Link& l : recv) l.post(steps_per_slice, 0);
  if (op_.send)
    for (size_t i = 0; i < send.size(); i++) send[i].post(steps_per_slice, bytes[i]);
  offset_ += n;
  if (++slice_ == slices_per_chunk) have_ = false;
  return true;
}

bool Group::poke() {
  if (finished) return false;
  if (custom) return finished = custom();
  bool moved = false;
  for (;;) {
    if (!have_) {
      op_ = Op();
      if (!next(op_)) {
        for (Link& l : recv) l.save();
        for (Link& l : send) l.save();
        finished = true;
        return true;
      }
      have_ = true;
      slice_ = 0;
      offset_ = 0;
      op_.elements = std::max<int64_t>(op_.elements, 0);
      // Slices are as NCCL's kernels cut them: the peer counts them.
      slice_elements_ = std::max<int64_t>(div_up<int64_t>(op_.elements, 16 * slices_per_chunk) * 16,
                                          step_elements * steps_per_slice / 32);
    }
    if (!(ll ? poke_ll() : poke_slice())) return moved;
    moved = true;
  }
}

}  // namespace cpudev
