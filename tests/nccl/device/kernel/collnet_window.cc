// CollNet direct reduce-scatter and all-gather. A rail's data of all nodes, in node order, is cut into
// windows of one chunk; a window may straddle ranks, and this rank's part of it may be empty.
#include <cstring>

#include "tests/nccl/device/kernel/collnet_direct.h"

namespace cpudev {
namespace {

// Elements [begin, end) of a rail.
struct Span {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

// The geometry of a channel's windows.
struct Rails {
  DirectShape shape;
  int64_t all;  // elements of one rail
  int64_t node;
  int heads, head_rank;
  Peers others;  // the node's other heads

  explicit Rails(const Work& w) : shape(direct_shape(w)) {
    const abi::Direct& d = w.channel->direct;
    all = w.comm->n_nodes * shape.size;
    node = w.comm->node;
    heads = d.n_heads;
    head_rank = d.head_rank;
    others.assign(d.heads + 1, d.heads + heads);
  }
  int rail_of(size_t other) const { return (head_rank + 1 + static_cast<int>(other)) % heads; }
  int64_t stride() const { return shape.channels * shape.chunk; }
  int windows() const { return static_cast<int>(div_up<int64_t>(all, stride())); }
  Span window(int64_t grid) const {
    const int64_t begin = std::min(grid + shape.channel * shape.chunk, all);
    return {begin, std::min(begin + shape.chunk, all)};
  }
  // This node's part of the window, as elements of the rank's own part; maybe empty (end <= begin).
  Span own(int64_t grid) const {
    const int64_t begin = grid + shape.channel * shape.chunk, end = std::min(begin + shape.chunk, all);
    const int64_t first = node * shape.size;
    return {std::max(begin, first) - first, std::min(end, first + shape.size) - first};
  }
};

// Visits a window's pieces, one per node it touches: f(element in the user's buffer, offset in the window,
// elements, rank).
template <class F>
void each_piece(const Work& w, const Rails& rails, Span window, int rail, F f) {
  const int64_t per_rank = rails.shape.size;
  for (int64_t at = window.begin; at < window.end;) {
    const int64_t node = at / per_rank, stop = std::min(window.end, (node + 1) * per_rank);
    const int rank = w.comm->dense_to_user_rank[node * rails.heads + rail];
    f(rank * per_rank + (at - node * per_rank), at - window.begin, stop - at, rank);
    at = stop;
  }
}

// One operation per window that moves whatever `move` says.
using MoveWindow = std::function<void(Span, char** in, char** out, int64_t* bytes)>;
void walk_windows(Group* g, const Rails& rails, bool recv, bool send, const MoveWindow& move) {
  g->next = [=, grid = int64_t{0}](Op& op) mutable {
    if (grid >= rails.all) return false;
    op.recv = recv;
    op.send = send;
    op.whole_step = true;
    op.move = [move, window = rails.window(grid)](int64_t, int64_t, char** in, char** out, int64_t* bytes) {
      move(window, in, out, bytes);
    };
    grid += rails.stride();
    return true;
  };
}

}  // namespace

void direct_reduce_scatter(const Builder& b) {
  const Rails rails(b.work());
  const int out_peer = b.work().channel->direct.out;
  const size_t peers = rails.others.size();
  if (peers > 0) {
    walk_windows(b.group({}, 0, rails.others, 1), rails, false, true,
                 [=](Span window, char**, char** out, int64_t* bytes) {
                   const Work& w = b.work();
                   for (size_t k = 0; k < peers; k++) {
                     bytes[k] = window.size() * w.element_size;
                     each_piece(w, rails, window, rails.rail_of(k),
                                [&](int64_t user, int64_t offset, int64_t n, int) {
                                  void *src = w.in_at(user), *dst = out[k] + offset * w.element_size;
                                  w.reduction.run(true, false, &src, 1, &dst, 1, static_cast<size_t>(n));
                                });
                   }
                 });
  }
  if (rails.shape.registered && peers == 0) {
    b.ring_bell(out_peer, 1, 1);
  } else {
    walk_windows(
        b.group(rails.others, 1, {out_peer}, 1), rails, peers > 0, true,
        [=](Span window, char** in, char** out, int64_t* bytes) {
          const Work& w = b.work();
          bytes[0] = window.size() * w.element_size;
          each_piece(w, rails, window, rails.head_rank, [&](int64_t user, int64_t offset, int64_t n, int) {
            void* srcs[abi::kDirectArity + 1];
            srcs[0] = w.in_at(user);
            for (size_t k = 0; k < peers; k++) srcs[k + 1] = in[k] + offset * w.element_size;
            void* dst = out[0] + offset * w.element_size;
            w.reduction.run(true, false, srcs, static_cast<int>(peers) + 1, &dst, 1, static_cast<size_t>(n));
          });
        });
  }
  if (rails.shape.registered) {
    b.await_bell(out_peer, 0, peers > 0 ? rails.windows() : 1);
    return;
  }
  Group* g = b.group({out_peer}, 0, {}, 0);
  g->next = [=, grid = int64_t{0}](Op& op) mutable {
    if (grid >= rails.all) return false;
    const Span own = rails.own(grid);
    b.flow(&op, g,
           {.recv = true, .send = false, .src = nullptr, .dst = b.work().out_at(own.begin), .post = true},
           std::max<int64_t>(0, own.size()));
    grid += rails.stride();
    return true;
  };
}

// Counts bytes: the element type is one byte.
void direct_all_gather(const Builder& b) {
  const Rails rails(b.work());
  const int out_peer = b.work().channel->direct.out, me = b.work().comm->rank;
  const size_t peers = rails.others.size();
  const bool in_place = b.work().in == b.work().out + me * rails.shape.size;
  if (rails.shape.registered) {
    b.ring_bell(out_peer, 1, peers > 0 ? rails.windows() : 1);
  } else {
    Group* g = b.group({}, 0, {out_peer}, 1);
    g->next = [=, grid = int64_t{0}](Op& op) mutable {
      if (grid >= rails.all) return false;
      const Span own = rails.own(grid);
      b.flow(&op, g,
             {.recv = false, .send = true, .src = b.work().in_at(own.begin), .dst = nullptr, .post = false},
             std::max<int64_t>(0, own.size()));
      grid += rails.stride();
      return true;
    };
  }
  if (rails.shape.registered && peers == 0) {
    b.await_bell(out_peer, 0, 1);
    return;
  }
  const auto keep = [=](Span window, int rail, const char* slot) {
    const Work& w = b.work();
    each_piece(w, rails, window, rail, [&](int64_t user, int64_t offset, int64_t n, int rank) {
      if (!(in_place && rank == me)) memcpy(w.out + user, slot + offset, static_cast<size_t>(n));
    });
  };
  walk_windows(b.group({out_peer}, 0, rails.others, 0), rails, true, peers > 0,
               [=](Span window, char** in, char** out, int64_t* bytes) {
                 for (size_t k = 0; k < peers; k++) {
                   bytes[k] = window.size();
                   memcpy(out[k], in[0], static_cast<size_t>(window.size()));
                 }
                 keep(window, rails.head_rank, in[0]);
               });
  if (peers > 0)
    walk_windows(b.group(rails.others, 0, {}, 0), rails, true, false,
                 [=](Span window, char** in, char**, int64_t*) {
                   for (size_t k = 0; k < peers; k++) keep(window, rails.rail_of(k), in[k]);
                 });
}

}  // namespace cpudev
