// Ranks in memory for tests of the kernel's algorithms: communicators of n ranks on one channel whose connections share
// buffers, heads and tails, as two devices of a node would. One thread pokes all groups in turn.
#pragma once
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/nccl/device/kernel/work.h"

namespace cpudev::test {

// One direction between two ranks.
struct Wire {
  static constexpr size_t kSimpleBytes = 64 << 10, kLLBytes = 32 << 10;
  std::vector<char> simple = std::vector<char>(kSimpleBytes), ll = std::vector<char>(kLLBytes);
  uint64_t head = 0, tail = 0;

  void join(abi::ConnInfo* send, abi::ConnInfo* recv) {
    for (abi::ConnInfo* c : {send, recv}) {
      c->buffs[abi::kProtoSimple] = simple.data();
      c->buffs[abi::kProtoLL] = ll.data();
      c->head = &head;
      c->tail = &tail;
      c->step_size = static_cast<int>(kSimpleBytes) / abi::kSteps;
    }
  }
};

class Fabric {
 public:
  explicit Fabric(int n) : n_(n), ranks_(static_cast<size_t>(n)) {
    for (int r = 0; r < n; r++) {
      Member& m = ranks_[static_cast<size_t>(r)];
      m.peers.resize(static_cast<size_t>(n));
      for (auto& p : m.peers) m.pointers.push_back(&p);
      for (int i = 0; i < n; i++) m.order.push_back((r + i) % n);
      m.comm.rank = r;
      m.comm.n_ranks = n;
      m.comm.n_nodes = 1;
      m.comm.buff_sizes[abi::kProtoSimple] = Wire::kSimpleBytes;
      m.comm.buff_sizes[abi::kProtoLL] = Wire::kLLBytes;
      m.channel.peers = m.pointers.data();
      m.channel.ring = {(r + n - 1) % n, (r + 1) % n, m.order.data(), r};
      // A binary tree by number.
      m.channel.tree = {0, r == 0 ? -1 : (r - 1) / 2, {child(2 * r + 1), child(2 * r + 2), -1}};
    }
    for (int a = 0; a < n; a++)
      for (int b = 0; b < n; b++)
        for (int conn = 0; conn < abi::kMaxConns; conn++) {
          wires_.push_back(std::make_unique<Wire>());
          wires_.back()->join(&member(a).peers[static_cast<size_t>(b)].send[conn],
                              &member(b).peers[static_cast<size_t>(a)].recv[conn]);
        }
  }

  // count: elements (of one rank for all-gather and reduce-scatter). in(r) and out(r): buffers of rank r.
  template <class In, class Out>
  void run(DeviceFunction f, size_t count, uint64_t arg, int root, In in, Out out) {
    std::vector<Groups> groups(static_cast<size_t>(n_));
    for (int r = 0; r < n_; r++) {
      Work w{};
      w.comm = &member(r).comm;
      w.channel = &member(r).channel;
      w.function = f;
      w.args.root = static_cast<uint32_t>(root);
      w.args.cbd.count_lo = count;
      w.args.cbd.grains_lo = f.proto == abi::kProtoLL ? 64 : 4;
      w.reduction = {f.op, f.type, arg};
      w.element_size = static_cast<int64_t>(type_size(f.type));
      w.in = static_cast<char*>(static_cast<void*>(in(r)));
      w.out = static_cast<char*>(static_cast<void*>(out(r)));
      ASSERT_TRUE(build_collective(w, &groups[static_cast<size_t>(r)]));
    }
    for (bool all = false; !all;) {
      bool moved = false;
      all = true;
      for (Groups& of_rank : groups)
        for (auto& g : of_rank) {
          moved |= g->poke();
          all &= g->finished;
        }
      ASSERT_TRUE(moved || all) << "deadlock";
    }
  }

 private:
  struct Member {
    abi::KernelComm comm{};
    abi::Channel channel{};
    std::vector<abi::Peer> peers;
    std::vector<abi::Peer*> pointers;
    std::vector<int> order;
  };
  Member& member(int r) { return ranks_[static_cast<size_t>(r)]; }
  int child(int r) const { return r < n_ ? r : -1; }

  int n_;
  std::vector<Member> ranks_;
  std::vector<std::unique_ptr<Wire>> wires_;
};

}  // namespace cpudev::test
