// ncclCollNet in its newest form (v12) over plugin/collnet/. Older tables reach these functions through
// plugin/abi/older.h. Contracts are collnet.h's and include/nccl/collnet_v12.h's; the context is always NULL.
#pragma once
#include "nccl/collnet_v12.h"

namespace fanin::plugin::abi {

ncclResult_t coll_init(void** ctx, uint64_t comm_id, ncclDebugLogger_t logger);
ncclResult_t coll_finalize(void* ctx);
ncclResult_t coll_listen(void* ctx, int dev, void* handle, void** listen_comm);
ncclResult_t coll_connect(void* handles[], int nranks, int rank, void* listen_comm, void** coll_comm);
ncclResult_t coll_reduce_support(ncclDataType_t type, ncclRedOp_t op, int* supported);
ncclResult_t coll_reg_mr(void* coll_comm, void* data, size_t size, int type, void** mhandle);
ncclResult_t coll_dereg_mr(void* coll_comm, void* mhandle);
ncclResult_t coll_iallreduce(void* coll_comm, void* send, void* recv, size_t count, ncclDataType_t type,
                             ncclRedOp_t op, void* send_mhandle, void* recv_mhandle, void** request);
ncclResult_t coll_iallgather(void* coll_comm, void* send, int nparts, ncclNetSGE_v12_t* parts,
                             size_t bytes_per_rank, size_t window_offset, size_t window_bytes,
                             void* send_mhandle, void** request);
ncclResult_t coll_ireducescatter(void* coll_comm, int nparts, ncclNetSGE_v12_t* parts, void* recv,
                                 size_t bytes_per_rank, size_t window_offset, size_t window_bytes,
                                 ncclDataType_t type, ncclRedOp_t op, void* recv_mhandle, void** request);
ncclResult_t coll_iflush(void* coll_comm, void* data, int size, void* mhandle, void** request);
ncclResult_t coll_test(void* request, int* done, int* size);
ncclResult_t coll_close(void* coll_comm);
ncclResult_t coll_close_listen(void* listen_comm);

}  // namespace fanin::plugin::abi
