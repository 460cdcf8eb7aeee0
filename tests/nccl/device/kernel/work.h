// One piece of a kernel's work on one channel, and how algorithms turn it into groups of operations.
//
// A Work lives as long as the groups made from it, which hold it. One thread.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/nccl/device/kernel/abi.h"
#include "tests/nccl/device/kernel/group.h"
#include "tests/nccl/device/kernel/reduction.h"

namespace cpudev {

enum Coll { kSendRecv, kAllGather, kBroadcast, kAllReduce, kReduce, kReduceScatter, kAllGatherV };
enum Algo { kTree, kRing, kCollNetDirect, kCollNetChain, kNvls, kNvlsTree, kPat };

// A device function: what NCCL numbers with a function id.
struct DeviceFunction {
  int coll = -1, op = 0, type = 0, algo = 0, proto = 0;
};

struct Work {
  const abi::KernelComm* comm;
  const abi::Channel* channel;
  int channel_id;
  DeviceFunction function;
  abi::WorkColl args;
  Reduction reduction;
  int64_t element_size;
  char *in, *out;  // the user's buffers

  // Addresses of elements.
  char* in_at(int64_t element) const { return in + element * element_size; }
  char* out_at(int64_t element) const { return out + element * element_size; }
};

using Groups = std::vector<std::unique_ptr<Group>>;
using Peers = std::vector<int>;  // ranks; -1 is skipped

// The part of the user's elements that is this channel's.
struct ChannelPart {
  int64_t count;          // of all channels
  int64_t offset;         // of this channel's first
  int64_t channel_count;  // of this channel
  int64_t chunk;
};

class Builder {
 public:
  Builder(std::shared_ptr<const Work> work, Groups* groups) : work_(std::move(work)), groups_(groups) {}
  const Work& work() const { return *work_; }
  const std::shared_ptr<const Work>& shared() const { return work_; }

  ChannelPart part() const;
  // A group over these peers' connections, added to the channel's. Owned by the channel.
  Group* group(const Peers& recv_peers, int recv_conn, const Peers& send_peers, int send_conn, int slices = 1,
               int steps = 1) const;
  void add(std::unique_ptr<Group> group) const { groups_->push_back(std::move(group)); }

  // The usual operation: folds src (if any) and all received slots into dst (if any) and every slot to send.
  struct Flow {
    bool recv, send;
    const char* src;
    char* dst;
    bool post;  // apply the reduction's post operation
  };
  void flow(Op* op, const Group* group, const Flow& flow, int64_t elements) const;

  // Registered user buffers: the kernel only rings the proxy's bell, and waits for it.
  void ring_bell(int peer, int conn, int steps) const;
  void await_bell(int peer, int conn, int steps) const;

 private:
  std::shared_ptr<const Work> work_;
  Groups* groups_;
};

// One function per algorithm, each in its own file.
void ring_all_reduce(const Builder& b);
void ring_all_gather(const Builder& b);
void ring_reduce_scatter(const Builder& b);
void ring_broadcast(const Builder& b);
void ring_reduce(const Builder& b);
void tree_all_reduce(const Builder& b);
void chain_all_reduce(const Builder& b);
void direct_all_reduce(const Builder& b);
void direct_reduce_scatter(const Builder& b);
void direct_all_gather(const Builder& b);

// The groups of a collective's work; false when this device cannot run it.
bool build_collective(const Work& work, Groups* groups);
// The groups of a send, a receive or both; a send to oneself is done at once.
void build_p2p(const abi::KernelComm* comm, const abi::Channel* channel, int channel_id, bool mirrored_parts,
               const abi::WorkP2p& work, Groups* groups);

}  // namespace cpudev
