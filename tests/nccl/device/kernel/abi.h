// What NCCL hands to its kernels, restated as far as this device reads it.
//
// The structures with offsets asserted at the end are as in memory, in every release since 2.22. The others (KernelComm,
// Channel, WorkColl) moved from release to release: layout.h reads them. NCCL's proxy threads write `tail`, `head`
// and fifo entries at the same time: access those atomically.
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
struct Channel {
  Peer** peers;
  Ring ring;
  Tree tree, chain;
  Direct direct;
  uint64_t* work_counter;  // NCCL's own, null before 2.26
};
struct Profiler {
  struct {
    uint64_t counter, timestamp;
  } data[64];
};
struct KernelComm {
  int rank, n_ranks, node, n_nodes;
  int buff_sizes[kProtos];
  int p2p_chunk_size;
  int* dense_to_user_rank;
  volatile uint32_t* abort_flag;
  char* channels;
  uint32_t* work_consumed;                  // by channel; null from 2.27 on
  Profiler *work_started, *work_completed;  // by channel; null before 2.27
};

enum : uint8_t { kStorageArguments = 0, kStorageFifo = 1, kStoragePersistent = 2 };
struct alignas(16) KernelArgs {
  const void* comm;  // for layout.h
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
enum { kWorkP2p = 0, kWorkColl = 1, kWorkCollReg = 2, kWorkBcast = 3 };
struct WorkColl {
  uint32_t channel_lo : 8, channel_hi : 8, n_warps : 8;
  uint32_t red_op_arg_is_ptr : 1, reg_used : 1, net_reg_used : 1, one_node : 1, direct : 2, is_one_rpn : 1,
      profiler : 1;
  uint32_t root;
  void *recvbuff, *sendbuff;
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
struct alignas(16) WorkP2p {
  void *send_addr, *recv_addr;
  size_t send_bytes, recv_bytes;
  int send_rank, recv_rank;
  uint8_t n_channels, channel_base, n_send_channels, n_recv_channels, send_chunk_fp8, recv_chunk_fp8;
  uint8_t send_ll : 1, recv_ll : 1, send_net_reg : 1, recv_net_reg : 1, send_ipc_reg : 1, recv_ipc_reg : 1,
      profiler : 1;
};
static_assert(sizeof(ConnInfo) == 152 && offsetof(ConnInfo, tail) == 48 && offsetof(ConnInfo, fifo) == 96 &&
              offsetof(ConnInfo, step) == 104);
static_assert(sizeof(ConnFifo) == 24 && sizeof(Peer) == 608 && sizeof(Tree) == 20 && sizeof(Direct) == 108);
static_assert(sizeof(KernelArgs) == 32 && sizeof(Batch) == 16 && sizeof(WorkP2p) == 48);

}  // namespace cpudev::abi
