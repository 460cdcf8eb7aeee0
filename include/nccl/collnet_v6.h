/* ncclCollNet version 6: collectives in the network. Looked up by NCCL 2.13 and later; the newest one 2.13
 * - 2.18 know.
 *
 * The first version here. Restated from the published plugin ABI. Contract of every version: connect may
 * block and may succeed with a NULL comm (NCCL then does without); iallreduce succeeds with a NULL request
 * when it cannot start now; count is in elements; nothing after connect may block. */
#ifndef FANIN_NCCL_COLLNET_V6_H
#define FANIN_NCCL_COLLNET_V6_H
#include "nccl/net_v6.h"

typedef struct {
  const char* name;
  ncclResult_t (*init)(ncclDebugLogger_t logger);
  ncclResult_t (*devices)(int* ndev);
  ncclResult_t (*getProperties)(int dev, ncclNetProperties_v6_t* props);
  ncclResult_t (*listen)(int dev, void* handle, void** listenComm);
  ncclResult_t (*connect)(void* handles[], int nranks, int rank, void* listenComm, void** collComm);
  ncclResult_t (*reduceSupport)(ncclDataType_t type, ncclRedOp_t op, int* supported);
  ncclResult_t (*regMr)(void* collComm, void* data, int size, int type, void** mhandle);
  ncclResult_t (*regMrDmaBuf)(void* collComm, void* data, size_t size, int type, uint64_t offset, int fd,
                              void** mhandle);
  ncclResult_t (*deregMr)(void* collComm, void* mhandle);
  ncclResult_t (*iallreduce)(void* collComm, void* sendData, void* recvData, int count, ncclDataType_t type,
                             ncclRedOp_t op, void* sendMhandle, void* recvMhandle, void** request);
  ncclResult_t (*iflush)(void* collComm, void* data, int size, void* mhandle, void** request);
  ncclResult_t (*test)(void* request, int* done, int* size);
  ncclResult_t (*closeColl)(void* collComm);
  ncclResult_t (*closeListen)(void* listenComm);
} ncclCollNet_v6_t;

#endif
