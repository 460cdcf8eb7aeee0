/* ncclNet version 9, the newest of NCCL 2.24 and 2.25. Against v8: isend and irecv take size_t; properties
 * gain forceFlush, the physical devices behind a virtual one and the largest transfers; makeVDevice (may be
 * NULL: no merging). */
#ifndef FANIN_NCCL_NET_V9_H
#define FANIN_NCCL_NET_V9_H
#include "nccl/net_device.h"

typedef struct {
  int ndevs;
  int devs[4];
} ncclNetVDeviceProps_v9_t;

typedef struct {
  char* name;      /* for logs and topology; valid while the library is loaded */
  char* pciPath;   /* real path under /sys/devices, or NULL */
  uint64_t guid;   /* of the card: equal for the functions of one chip */
  int ptrSupport;  /* mask of NCCL_PTR_* */
  int regIsGlobal; /* a registration holds for every comm of the device */
  int forceFlush;  /* flush after every receive into GPU memory */
  int speed;       /* Mbit/s */
  int port;
  float latency; /* microseconds; 0: unknown */
  int maxComms;
  int maxRecvs; /* parts of one grouped receive */
  ncclNetDeviceType netDeviceType;
  int netDeviceVersion;
  ncclNetVDeviceProps_v9_t vProps; /* a physical device: itself */
  size_t maxP2pBytes;              /* per isend/irecv; 1 ... 2^40 */
  size_t maxCollBytes;             /* per collective call; 1 ... 2^40 */
} ncclNetProperties_v9_t;

typedef struct {
  const char* name;
  ncclResult_t (*init)(ncclDebugLogger_t logger);
  ncclResult_t (*devices)(int* ndev);
  ncclResult_t (*getProperties)(int dev, ncclNetProperties_v9_t* props);
  ncclResult_t (*listen)(int dev, void* handle, void** listenComm);
  ncclResult_t (*connect)(int dev, void* handle, void** sendComm, ncclNetDeviceHandle_v9_t** devComm);
  ncclResult_t (*accept)(void* listenComm, void** recvComm, ncclNetDeviceHandle_v9_t** devComm);
  ncclResult_t (*regMr)(void* comm, void* data, size_t size, int type, void** mhandle);
  ncclResult_t (*regMrDmaBuf)(void* comm, void* data, size_t size, int type, uint64_t offset, int fd,
                              void** mhandle);
  ncclResult_t (*deregMr)(void* comm, void* mhandle);
  ncclResult_t (*isend)(void* sendComm, void* data, size_t size, int tag, void* mhandle, void** request);
  ncclResult_t (*irecv)(void* recvComm, int n, void** data, size_t* sizes, int* tags, void** mhandles,
                        void** request);
  ncclResult_t (*iflush)(void* recvComm, int n, void** data, int* sizes, void** mhandles, void** request);
  ncclResult_t (*test)(void* request, int* done, int* sizes);
  ncclResult_t (*closeSend)(void* sendComm);
  ncclResult_t (*closeRecv)(void* recvComm);
  ncclResult_t (*closeListen)(void* listenComm);
  ncclResult_t (*getDeviceMr)(void* comm, void* mhandle, void** deviceMhandle);
  ncclResult_t (*irecvConsumed)(void* recvComm, int n, void* request);
  ncclResult_t (*makeVDevice)(int* dev, ncclNetVDeviceProps_v9_t* props);
} ncclNet_v9_t;

#endif
