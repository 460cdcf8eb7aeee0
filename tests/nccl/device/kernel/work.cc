#include "tests/nccl/device/kernel/work.h"

namespace cpudev {

ChannelPart Builder::part() const {
  const Work& w = *work_;
  const auto& cbd = w.args.cbd;
  const int64_t lo = w.args.channel_lo, hi = w.args.channel_hi, me = w.channel_id;
  const int64_t count_lo = static_cast<int64_t>(cbd.count_lo),
                count_mid = static_cast<int64_t>(cbd.count_mid),
                count_hi = static_cast<int64_t>(cbd.count_hi), between = hi - lo - 1;
  const int64_t per_grain =
      (w.function.proto == abi::kProtoLL ? 16 : 512) / w.element_size;  // grains are in bytes
  const int64_t total = count_lo + count_mid * between + count_hi;
  if (me == lo) return {total, 0, count_lo, static_cast<int64_t>(cbd.grains_lo) * per_grain};
  if (me == hi)
    return {total, count_lo + between * count_mid, count_hi, static_cast<int64_t>(cbd.grains_hi) * per_grain};
  return {total, count_lo + (me - lo - 1) * count_mid, count_mid,
          static_cast<int64_t>(cbd.grains_mid) * per_grain};
}

Group* Builder::group(const Peers& recv_peers, int recv_conn, const Peers& send_peers, int send_conn,
                      int slices, int steps) const {
  const Work& w = *work_;
  auto g = std::make_unique<Group>();
  g->ll = w.function.proto == abi::kProtoLL;
  const size_t ll_lines =
      g->ll ? static_cast<size_t>(w.comm->buff_sizes[abi::kProtoLL] / abi::kSteps / 16) : 0;
  if (g->ll) slices = steps = 1;
  g->slices_per_chunk = slices;
  g->steps_per_slice = steps;
  g->element_size = static_cast<size_t>(w.element_size);
  g->step_elements = w.comm->buff_sizes[abi::kProtoSimple] / abi::kSteps / w.element_size;
  for (int p : recv_peers)
    if (p != -1)
      g->recv.emplace_back(&w.channel->peers[p]->recv[recv_conn], Link::Direction::kRecv, slices * steps,
                           ll_lines);
  for (int p : send_peers)
    if (p != -1)
      g->send.emplace_back(&w.channel->peers[p]->send[send_conn], Link::Direction::kSend, slices * steps,
                           ll_lines);
  groups_->push_back(std::move(g));
  return groups_->back().get();
}

void Builder::flow(Op* op, const Group* group, const Flow& f, int64_t elements) const {
  op->recv = f.recv;
  op->send = f.send;
  op->elements = elements;
  const size_t received = f.recv ? group->recv.size() : 0, sent = f.send ? group->send.size() : 0;
  op->move = [work = work_, f, received, sent](int64_t offset, int64_t count, char** in, char** out,
                                               int64_t*) {
    void *srcs[abi::kNvlsArity + 1], *dsts[abi::kNvlsArity + 1];
    int n_srcs = 0, n_dsts = 0;
    const int64_t bytes = offset * work->element_size;
    if (f.src) srcs[n_srcs++] = const_cast<char*>(f.src) + bytes;
    for (size_t i = 0; i < received; i++) srcs[n_srcs++] = in[i];
    if (f.dst) dsts[n_dsts++] = f.dst + bytes;
    for (size_t i = 0; i < sent; i++) dsts[n_dsts++] = out[i];
    work->reduction.run(f.src != nullptr, f.post, srcs, n_srcs, dsts, n_dsts, static_cast<size_t>(count));
  };
}

void Builder::ring_bell(int peer, int conn, int steps) const {
  auto g = std::make_unique<Group>();
  abi::ConnInfo* c = &work_->channel->peers[peer]->send[conn];
  g->custom = [=] {
    c->step += static_cast<uint64_t>(steps);
    __atomic_store_n(c->tail, c->step, __ATOMIC_RELEASE);
    return true;
  };
  add(std::move(g));
}

void Builder::await_bell(int peer, int conn, int steps) const {
  auto g = std::make_unique<Group>();
  abi::ConnInfo* c = &work_->channel->peers[peer]->recv[conn];
  g->custom = [=, rung = false]() mutable {
    if (!rung) {
      c->step += static_cast<uint64_t>(steps);
      __atomic_store_n(c->head, c->step, __ATOMIC_RELEASE);
      rung = true;
    }
    return __atomic_load_n(c->tail, __ATOMIC_ACQUIRE) >= c->step;
  };
  add(std::move(g));
}

bool build_collective(const Work& work, Groups* groups) {
  const DeviceFunction& f = work.function;
  if (f.proto != abi::kProtoSimple && f.proto != abi::kProtoLL) return false;
  if (work.args.reg_used) return false;
  if (f.coll != kAllGather && f.coll != kBroadcast && !Reduction::supported(f.op, f.type)) return false;
  struct Entry {
    int coll, algo;
    void (*build)(const Builder&);
  };
  static constexpr Entry kEntries[] = {
      {kAllReduce, kRing, ring_all_reduce},
      {kAllReduce, kTree, tree_all_reduce},
      {kAllReduce, kCollNetDirect, direct_all_reduce},
      {kAllReduce, kCollNetChain, chain_all_reduce},
      {kAllGather, kRing, ring_all_gather},
      {kAllGather, kCollNetDirect, direct_all_gather},
      {kReduceScatter, kRing, ring_reduce_scatter},
      {kReduceScatter, kCollNetDirect, direct_reduce_scatter},
      {kBroadcast, kRing, ring_broadcast},
      {kReduce, kRing, ring_reduce},
  };
  for (const Entry& e : kEntries) {
    if (e.coll != f.coll || e.algo != f.algo) continue;
    e.build(Builder(std::make_shared<const Work>(work), groups));
    return true;
  }
  return false;
}

}  // namespace cpudev
