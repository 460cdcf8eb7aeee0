// Ring algorithms. Each walks the channel's part in chunks; within one, `phase` counts the ring's steps.
#include <algorithm>

#include "tests/nccl/device/kernel/work.h"

namespace cpudev {

void ring_all_reduce(const Builder& b) {
  const ChannelPart p = b.part();
  const abi::Ring& r = b.work().channel->ring;
  Group* g = b.group({r.prev}, 0, {r.next}, 0, 2, 2);
  const int64_t n = b.work().comm->n_ranks, me = r.index;
  g->next = [=, elem = int64_t{0}, chunk = p.chunk, phase = int64_t{0}](Op& op) mutable {
    if (phase == 2 * n - 1) {
      phase = 0;
      elem += n * p.chunk;
    }
    if (elem >= p.channel_count) return false;
    const Work& w = b.work();
    const int64_t left = p.channel_count - elem;
    if (phase == 0 && left < n * p.chunk)
      chunk = round_up<int64_t>(div_up<int64_t>(left, n), 16 / w.element_size);
    const int64_t which = phase < n - 1 ? (me + n - 1 - phase) % n : (me + 2 * n - 1 - phase) % n;
    const int64_t at_chunk = which * chunk, count = std::min(chunk, left - at_chunk),
                  at = p.offset + elem + at_chunk;
    if (phase == 0)
      b.flow(&op, g, {.recv = false, .send = true, .src = w.in_at(at), .dst = nullptr, .post = false}, count);
    else if (phase < n - 1)
      b.flow(&op, g, {.recv = true, .send = true, .src = w.in_at(at), .dst = nullptr, .post = false}, count);
    else if (phase == n - 1)
      b.flow(&op, g, {.recv = true, .send = true, .src = w.in_at(at), .dst = w.out_at(at), .post = true},
             count);
    else
      b.flow(&op, g,
             {.recv = true, .send = phase < 2 * n - 2, .src = nullptr, .dst = w.out_at(at), .post = false},
             count);
    phase++;
    return true;
  };
}

void ring_all_gather(const Builder& b) {
  const ChannelPart p = b.part();
  const abi::Ring& r = b.work().channel->ring;
  Group* g = b.group({r.prev}, 0, {r.next}, 0, 2, 2);
  const int64_t n = b.work().comm->n_ranks;
  g->next = [=, elem = int64_t{0}, phase = int64_t{0}](Op& op) mutable {
    if (phase == n) {
      phase = 0;
      elem += p.chunk;
    }
    if (elem >= p.channel_count) return false;
    const Work& w = b.work();
    const int* order = w.channel->ring.user_ranks;
    const int64_t count = std::min(p.chunk, p.channel_count - elem), data = p.offset + elem;
    const int64_t from = phase == 0 ? order[0] : phase < n - 1 ? order[n - phase] : order[1];
    const int64_t at = data + from * p.count;
    if (phase == 0) {
      char* dst = w.in_at(data) == w.out_at(at) ? nullptr : w.out_at(at);  // in place
      b.flow(&op, g, {.recv = false, .send = true, .src = w.in_at(data), .dst = dst, .post = false}, count);
    } else {
      b.flow(&op, g,
             {.recv = true, .send = phase < n - 1, .src = nullptr, .dst = w.out_at(at), .post = false},
             count);
    }
    phase++;
    return true;
  };
}

void ring_reduce_scatter(const Builder& b) {
  const ChannelPart p = b.part();
  const abi::Ring& r = b.work().channel->ring;
  Group* g = b.group({r.prev}, 0, {r.next}, 0, 2, 2);
  const int64_t n = b.work().comm->n_ranks;
  g->next = [=, elem = int64_t{0}, phase = int64_t{0}](Op& op) mutable {
    if (phase == n) {
      phase = 0;
      elem += p.chunk;
    }
    if (elem >= p.channel_count) return false;
    const Work& w = b.work();
    const int* order = w.channel->ring.user_ranks;
    const int64_t count = std::min(p.chunk, p.channel_count - elem), data = p.offset + elem;
    const int64_t to = phase == n - 1 ? order[0] : order[n - 1 - phase];
    const char* src = w.in_at(data + to * p.count);
    const bool last = phase == n - 1;
    b.flow(
        &op, g,
        {.recv = phase > 0, .send = !last, .src = src, .dst = last ? w.out_at(data) : nullptr, .post = last},
        count);
    phase++;
    return true;
  };
}

void ring_broadcast(const Builder& b) {
  const ChannelPart p = b.part();
  const abi::Ring& r = b.work().channel->ring;
  Group* g = b.group({r.prev}, 0, {r.next}, 0);
  const int me = r.user_ranks[0], next = r.user_ranks[1], root = static_cast<int>(b.work().args.root);
  g->next = [=, elem = int64_t{0}](Op& op) mutable {
    if (elem >= p.channel_count) return false;
    const Work& w = b.work();
    const int64_t count = std::min(p.chunk, p.channel_count - elem), at = p.offset + elem;
    if (me == root) {
      char* dst = w.in_at(at) == w.out_at(at) ? nullptr : w.out_at(at);
      b.flow(&op, g, {.recv = false, .send = true, .src = w.in_at(at), .dst = dst, .post = false}, count);
    } else {
      b.flow(&op, g, {.recv = true, .send = next != root, .src = nullptr, .dst = w.out_at(at), .post = false},
             count);
    }
    elem += p.chunk;
    return true;
  };
}

void ring_reduce(const Builder& b) {
  const ChannelPart p = b.part();
  const abi::Ring& r = b.work().channel->ring;
  Group* g = b.group({r.prev}, 0, {r.next}, 0);
  const int n = b.work().comm->n_ranks, me = b.work().comm->rank, root = static_cast<int>(b.work().args.root);
  const bool first = r.user_ranks[n - 1] == root,
             last = me == root;  // of the chain that starts behind the root
  g->next = [=, elem = int64_t{0}](Op& op) mutable {
    if (elem >= p.channel_count) return false;
    const Work& w = b.work();
    const int64_t count = std::min(p.chunk, p.channel_count - elem), at = p.offset + elem;
    b.flow(&op, g,
           {.recv = !first,
            .send = !last,
            .src = w.in_at(at),
            .dst = last ? w.out_at(at) : nullptr,
            .post = last},
           count);
    elem += p.chunk;
    return true;
  };
}

}  // namespace cpudev
