/* ncclNet version 7, the newest of NCCL 2.19. Against v6: properties name a device offload; connect and
 * accept may hand out its handle (devComm is NULL when NCCL does not ask for one); getDeviceMr and
 * irecvConsumed (both may be NULL). */
#ifndef FANIN_NCCL_NET_V7_H
#define FANIN_NCCL_NET_V7_H
#include "nccl/net_device.h"

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
  ncclNetDeviceType netDeviceType;
  int netDeviceVersion;
} ncclNetProperties_v7_t;

typedef struct {
  const char* name;
  ncclResult_t (*init)(ncclDebugLogger_t logger);
  ncclResult_t (*devices)(int* ndev);
  ncclResult_t (*getProperties)(int dev, ncclNetProperties_v7_t* props);
  ncclResult_t (*listen)(int dev, void* handle, void** listenComm);
  ncclResult_t (*connect)(int dev, void* handle, void** sendComm, ncclNetDeviceHandle_v7_t** devComm);
  ncclResult_t (*accept)(void* listenComm, void** recvComm, ncclNetDeviceHandle_v7_t** devComm);
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
  ncclResult_t (*getDeviceMr)(void* comm, void* mhandle, void** deviceMhandle);
  ncclResult_t (*irecvConsumed)(void* recvComm, int n, void* request);
} ncclNet_v7_t;

#endif
