// Tree all-reduce: sums go up, the result comes down; the root does both in one group.
#include <algorithm>

#include "tests/nccl/device/kernel/work.h"

namespace cpudev {

void tree_all_reduce(const Builder& b) {
  const ChannelPart p = b.part();
  const abi::Tree& t = b.work().channel->tree;
  Peers down;
  for (int d : t.down)
    if (d != -1) down.push_back(d);
  // Every chunk: in: read the user's input; out: write the user's output.
  const auto walk = [&](Group* g, bool recv, bool send, bool in, bool out) {
    g->next = [=, elem = int64_t{0}](Op& op) mutable {
      if (elem >= p.channel_count) return false;
      const Work& w = b.work();
      const int64_t at = p.offset + elem;
      b.flow(&op, g,
             {.recv = recv,
              .send = send,
              .src = in ? w.in_at(at) : nullptr,
              .dst = out ? w.out_at(at) : nullptr,
              .post = in && out},
             std::min(p.chunk, p.channel_count - elem));
      elem += p.chunk;
      return true;
    };
  };
  if (t.up == -1) {
    walk(b.group(down, 0, down, 0), true, true, true, true);
    return;
  }
  walk(b.group(down, 0, {t.up}, 0), !down.empty(), true, true, false);
  walk(b.group({t.up}, 0, down, 0), true, !down.empty(), false, true);
}

}  // namespace cpudev
