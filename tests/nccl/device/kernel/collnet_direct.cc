// CollNet direct all-reduce. Four groups run side by side and must interleave: scatter my input to the heads;
// as a head, sum my rail into the network; broadcast the network's result to the node; gather results from
// the heads.
#include "tests/nccl/device/kernel/collnet_direct.h"

#include <cstring>

namespace cpudev {
namespace {

Peers leading(const int* peers) {
  Peers v;
  for (int i = 0; i < abi::kDirectArity && peers[i] != -1; i++) v.push_back(peers[i]);
  return v;
}

// Where the blocks of the node's heads are in one round of the buffer.
struct Blocks {
  DirectShape shape;
  int64_t base, round, stride;
  int head_rank, shift;

  Blocks(const DirectShape& s, const abi::Direct& d) : shape(s), head_rank(d.head_rank), shift(d.shift) {
    base = s.registered ? s.channel * s.chunk : s.channel * d.n_heads * s.chunk;
    round = s.registered ? s.size : d.n_heads * s.chunk;
    stride = s.registered ? s.channels * s.chunk : s.chunk;
  }
  // Offset of the i-th other head's block: my own is not among them.
  int64_t of_peer(int64_t i) const { return (i + (head_rank >= 0 && i >= head_rank)) * stride; }
};

// Visits the other heads' blocks of one round: f(peer, its block's first element, elements).
template <class F>
void each_block(const Blocks& k, size_t peers, int64_t grid, int64_t block, F f) {
  const int64_t at = grid + k.base, total = std::min(k.round, k.shape.size - at);
  for (size_t j = 0; j < peers; j++) {
    const size_t peer = (j + static_cast<size_t>(k.shift)) % peers;
    const int64_t offset = k.of_peer(static_cast<int64_t>(peer));
    f(peer, at + offset, std::min(block, total - offset));
  }
}

void scatter(const Builder& b, const Peers& up, const Blocks& k) {
  Group* g = b.group({}, 0, up, 1);
  const int64_t cut = std::max<int64_t>(round_up<int64_t>(k.shape.chunk, 16), g->step_elements / 32);
  const int64_t block = std::max<int64_t>(0, std::min(cut, k.shape.chunk));
  g->next = [=, n = up.size(), grid = int64_t{0}](Op& op) mutable {
    if (grid >= k.shape.size) return false;
    op.send = op.whole_step = true;
    op.elements = block;
    op.move = [=](int64_t, int64_t, char**, char** out, int64_t* bytes) {
      const Work& w = b.work();
      each_block(k, n, grid, block, [&](size_t peer, int64_t at, int64_t count) {
        bytes[peer] = block * w.element_size;
        if (count <= 0) return;
        void *src = w.in_at(at), *dst = out[peer];
        w.reduction.run(true, false, &src, 1, &dst, 1, static_cast<size_t>(count));
      });
    };
    grid += k.shape.loop;
    return true;
  };
}

void gather(const Builder& b, const Peers& up, const Blocks& k) {
  Group* g = b.group(up, 0, {}, 0);
  const int64_t cut = std::max<int64_t>(round_up<int64_t>(k.shape.chunk, 16), g->step_elements / 32);
  const int64_t block = std::max<int64_t>(0, std::min(cut, k.shape.chunk));
  g->next = [=, n = up.size(), grid = int64_t{0}](Op& op) mutable {
    if (grid >= k.shape.size) return false;
    op.recv = op.whole_step = true;
    op.elements = block;
    op.move = [=](int64_t, int64_t, char** in, char**, int64_t*) {
      const Work& w = b.work();
      each_block(k, n, grid, block, [&](size_t peer, int64_t at, int64_t count) {
        if (count > 0) memcpy(w.out_at(at), in[peer], static_cast<size_t>(count * w.element_size));
      });
    };
    grid += k.shape.loop;
    return true;
  };
}

}  // namespace

void direct_all_reduce(const Builder& b) {
  const abi::Direct& d = b.work().channel->direct;
  const DirectShape s = direct_shape(b.work());
  const Peers up = leading(d.up), down = leading(d.down);
  if (!up.empty()) {
    const Blocks blocks(s, d);
    scatter(b, up, blocks);
    gather(b, up, blocks);
  }
  if (d.out == -1) return;  // no head
  if (down.empty() && s.registered) {
    b.ring_bell(d.out, 1, 1);
    b.await_bell(d.out, 0, 1);
    return;
  }
  const int64_t mine = s.registered && !down.empty() ? (s.channel + d.head_rank * s.channels) * s.chunk
                                                     : (s.channel * d.n_heads + d.head_rank) * s.chunk;
  const auto walk = [&](Group* g, bool recv, bool send, bool in, bool out, bool post) {
    g->next = [=, grid = int64_t{0}](Op& op) mutable {
      if (grid >= s.size) return false;
      const Work& w = b.work();
      const int64_t at = grid + mine;
      b.flow(&op, g,
             {.recv = recv,
              .send = send,
              .src = in ? w.in_at(at) : nullptr,
              .dst = out ? w.out_at(at) : nullptr,
              .post = post},
             std::min(s.chunk, s.size - at));
      grid += s.loop;
      return true;
    };
  };
  walk(b.group(down, 1, {d.out}, 1), !down.empty(), true, true, false, false);
  walk(b.group({d.out}, 0, down, 0), true, !down.empty(), false, true, true);
}

}  // namespace cpudev
