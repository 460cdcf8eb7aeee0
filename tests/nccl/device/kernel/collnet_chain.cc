// CollNet chain all-reduce: sums go up a chain of the node's devices into the network (peer n_ranks), results
// come back down it.
#include <algorithm>

#include "tests/nccl/device/kernel/work.h"

namespace cpudev {

void chain_all_reduce(const Builder& b) {
  const Work& work = b.work();
  const abi::Tree& t = work.channel->chain;
  const int64_t chunk = work.args.collnet.chunk_count, size = static_cast<int64_t>(work.args.collnet.count);
  const int64_t channels =
      static_cast<int64_t>(work.args.channel_hi) - static_cast<int64_t>(work.args.channel_lo) + 1;
  const int64_t first = (work.channel_id - static_cast<int64_t>(work.args.channel_lo)) * chunk,
                loop = channels * chunk;
  const int down = t.down[0], up = t.up;
  const bool head = up == work.comm->n_ranks, registered = work.args.net_reg_used;
  const auto walk = [&](Group* g, bool recv, bool send, bool in, bool out, bool post) {
    g->next = [=, grid = int64_t{0}](Op& op) mutable {
      if (grid >= size) return false;
      const Work& w = b.work();
      const int64_t at = grid + first;
      b.flow(&op, g,
             {.recv = recv,
              .send = send,
              .src = in ? w.in_at(at) : nullptr,
              .dst = out ? w.out_at(at) : nullptr,
              .post = post},
             std::min(chunk, size - at));
      grid += loop;
      return true;
    };
  };
  // Up, on connection 1.
  if (down == -1 && registered)
    b.ring_bell(up, 1, 1);
  else
    walk(b.group({down}, 1, {up}, 1), down != -1, true, true, false, false);
  // Down, on connection 0; the head applies the post operation.
  if (head && down == -1 && registered)
    b.await_bell(up, 0, 1);
  else
    walk(b.group({up}, 0, {down}, 0), true, down != -1, false, true, head);
}

}  // namespace cpudev
