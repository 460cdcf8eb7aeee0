/* ncclNet version 6: point-to-point network. Looked up by NCCL 2.13 and later; the newest one 2.13 - 2.18
 * know.
 *
 * The first version here; nothing older is offered. Restated from the published plugin ABI.
 * Contract of every version: connect and accept never block, they succeed with a NULL comm until ready. isend
 * and irecv succeed with a NULL request when they cannot start now. irecv takes upper bounds, test reports
 * what came. test's sizes has as many entries as the receive had parts, one for a send. NULL regMrDmaBuf: no
 * dmabuf. */
#ifndef FANIN_NCCL_NET_V6_H
#define FANIN_NCCL_NET_V6_H
#include "nccl/types.h"

typedef struct {
  char* name;     /* for logs and topology; valid while the library is loaded */
  char* pciPath;  /* real path under /sys/devices, or NULL */
  uint64_t guid;  /* of the card: equal for the functions of one chip */
  int ptrSupport; /* mask of NCCL_PTR_* */
  int speed;      /* Mbit/s */
  int port;
  float latency; /* microseconds; 0: unknown */
  int maxComms;
  int maxRecvs; /* parts of one grouped receive */
} ncclNetProperties_v6_t;

typedef struct {
  const char* name;
  ncclResult_t (*init)(ncclDebugLogger_t logger);
  ncclResult_t (*devices)(int* ndev);
  ncclResult_t (*getProperties)(int dev, ncclNetProperties_v6_t* props);
  ncclResult_t (*listen)(int dev, void* handle, void** listenComm);
  ncclResult_t (*connect)(int dev, void* handle, void** sendComm);
  ncclResult_t (*accept)(void* listenComm, void** recvComm);
  ncclResult_t (*regMr)(void* comm, void* data, int size, int type, void** mhandle);
  ncclResult_t (*regMrDmaBuf)(void* comm, void* data, size_t size, int type, uint64_t offset, int fd,
                              void** mhandle);
  ncclResult_t (*deregMr)(void* comm, void* mhandle);
  ncclResult_t (*isend)(void* sendComm, void* data, int size, int tag, void* mhandle, void** request);
  ncclResult_t (*irecv)(void* recvComm, int n, void** data, int* sizes, int* tags, void** mhandles,
                        void** request);
  ncclResult_t (*iflush)(void* recvComm, int n, void** data, int* sizes, void** mhandles, void** request);
  ncclResult_t (*test)(void* request, int* done, int* sizes);
  ncclResult_t (*closeSend)(void* sendComm);
  ncclResult_t (*closeRecv)(void* recvComm);
  ncclResult_t (*closeListen)(void* listenComm);
} ncclNet_v6_t;

#endif
