// Memory layouts of what NCCL 2.28 hands to its kernels, restated as far as this device reads it.
//
// Equal in 2.28.3 … 2.28.9; from 2.29 Ring has one more pointer. Offsets are asserted at the end. NCCL's
// proxy threads write `tail`, `head` and fifo entries at the same time: access those atomically.
#pragma once
#include <cstddef>
#include <cstdint>

namespace cpudev::abi {

inline constexpr int kSteps = 8, kProtos = 3, kMaxChannels = 64, kMaxConns = 2;
inline constexpr int kProtoLL = 0, kProtoSimple = 2;
inline constexpr int kTreeArity = 3, kDirectArity = 7, kNvlsArity = 32;

struct ConnFifo {
  int mode, offset;  // mode 1: the step's data is at offset
  int64_t size;
  void* ptr;
};
struct NetDevHandle {
  int type, version;
  void* handle;
  size_t size;
  int needs_proxy;
};
struct ConnInfo {
  char* buffs[kProtos];
  void* mhandles[kProtos];
  uint64_t *tail, *head;
  int flags, shared, step_size;
  void** ptr_exchange;
  uint64_t* red_op_arg_exchange;
  ConnFifo* fifo;
  uint64_t step, ll_last_cleaning;
  NetDevHandle net_dev;
};
struct Peer {
  ConnInfo send[kMaxConns], recv[kMaxConns];
};
struct Ring {
  int prev, next;
  int* user_ranks;
  int index;
};
struct Tree {
  int depth, up, down[kTreeArity];
};
struct Direct {
  int depth, out, n_heads, head_rank, shift;
  int heads[kDirectArity + 1], up[kDirectArity], down[kDirectArity];
};
struct Nvls {
  int out, n_heads, head_rank, up[kNvlsArity], down, tree_up, tree_down[3];
};
struct alignas(16) Channel {
  Peer** peers;
  Ring ring;
  Tree tree, chain;
  Direct direct;
  Nvls nvls;
  uint32_t* work_fifo_done;
  uint64_t work_counter;
};
struct Profiler {
  struct {
    uint64_t counter, timestamp;
  } data[64];
};
struct KernelComm {
  int rank, n_ranks, node, n_nodes;
  int buff_sizes[kProtos];
  int p2p_chunk_size, is_all_nvlink;
  int* dense_to_user_rank;
  volatile uint32_t* abort_flag;
  Channel* channels;
  int* rank_to_local_rank;
  Profiler *work_started, *work_completed;
};
struct alignas(16) KernelCommAndChannels {
  KernelComm comm;
  Channel channels[kMaxChannels];
};

enum : uint8_t { kStorageArguments = 0, kStorageFifo = 1, kStoragePersistent = 2 };
struct alignas(16) KernelArgs {
  KernelComm* comm;
  uint64_t channel_mask;
  uint8_t storage;  // where work structs are
  uint32_t work_mask;
  void* work_buf;
};
struct alignas(16) Batch {
  uint32_t next_jump : 14, next_extends : 1, work_type : 2, func_id : 15;
  uint32_t offset_base;
  uint64_t offset_bits;
};
enum { kWorkP2p = 0, kWorkColl = 1, kWorkCollReg = 2 };
struct alignas(16) WorkColl {
  uint32_t channel_lo : 8, channel_hi : 8, n_warps : 8;
  uint32_t red_op_arg_is_ptr : 1, reg_used : 1, net_reg_used : 1, one_node : 1, direct : 2, is_one_rpn : 1,
      profiler : 1;
  uint32_t root;
  void *recvbuff, *sendbuff;
  uintptr_t send_offset, recv_offset;
  uintptr_t *send_remote, *recv_remote;
  union {
    // "Continuous byte distribution": elements of the first, the middle and the last channel.
    struct {
      size_t count_lo, count_mid, count_hi;
      uint64_t grains_lo : 21, grains_mid : 21, grains_hi : 21;
    } cbd;
    struct {
      size_t count;
      uint32_t chunk_count;
    } collnet;
  };
  uint64_t red_op_arg;
};
struct alignas(16) WorkCollReg {
  WorkColl coll;
  void *dn_in[8], *dn_out[8], *up_out[8];
};
struct alignas(16) WorkP2p {
  void *send_addr, *recv_addr;
  size_t send_bytes, recv_bytes;
  int send_rank, recv_rank;
  uint8_t n_channels, channel_base, n_send_channels, n_recv_channels, send_chunk_fp8, recv_chunk_fp8;
  uint8_t send_ll : 1, recv_ll : 1, send_net_reg : 1, recv_net_reg : 1, send_ipc_reg : 1, recv_ipc_reg : 1,
      profiler : 1;
};
constexpr size_t work_size(int type) {
  return type == kWorkP2p ? sizeof(WorkP2p) : type == kWorkColl ? sizeof(WorkColl) : sizeof(WorkCollReg);
}

static_assert(sizeof(ConnInfo) == 152 && offsetof(ConnInfo, tail) == 48 && offsetof(ConnInfo, fifo) == 96 &&
              offsetof(ConnInfo, step) == 104);
static_assert(sizeof(ConnFifo) == 24 && sizeof(Peer) == 608 && sizeof(Ring) == 24 && sizeof(Tree) == 20 &&
              sizeof(Direct) == 108);
static_assert(sizeof(Channel) == 368 && offsetof(Channel, chain) == 52 && offsetof(Channel, direct) == 72 &&
              offsetof(Channel, work_counter) == 352);
static_assert(sizeof(KernelComm) == 88 && offsetof(KernelComm, abort_flag) == 48 &&
              offsetof(KernelCommAndChannels, channels) == 96);
static_assert(sizeof(KernelArgs) == 32 && sizeof(Batch) == 16 && sizeof(WorkColl) == 96 &&
              sizeof(WorkCollReg) == 288 && sizeof(WorkP2p) == 48);
static_assert(offsetof(WorkColl, cbd) == 56 && offsetof(WorkColl, red_op_arg) == 88);

}  // namespace cpudev::abi
