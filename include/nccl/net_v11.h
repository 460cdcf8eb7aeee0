/* ncclNet version 11, the newest of NCCL 2.28 and 2.29. Against v10: init runs once per communicator, carries
 * connect's configuration and may return a context, which listen and connect get back; finalize ends it;
 * setNetAttr (may be NULL) hints at the traffic to come; properties gain maxMultiRequestSize. */
#ifndef FANIN_NCCL_NET_V11_H
#define FANIN_NCCL_NET_V11_H
#include "nccl/net_v10.h"

typedef ncclNetCommConfig_v10_t ncclNetCommConfig_v11_t;
typedef ncclNetVDeviceProps_v9_t ncclNetVDeviceProps_v11_t;

typedef struct {
  int32_t maxConcurrentPeers;
  int32_t minConcurrentPeers;
  int32_t maxFlowsPerPeer;
  int32_t minFlowsPerPeer;
} ncclNetCommAttr_v11_t;

typedef struct {
  ncclNetCommAttr_v11_t sendCommAttr;
  ncclNetCommAttr_v11_t recvCommAttr;
  uint32_t op;
  uint32_t algo;
  uint32_t proto;
} ncclNetAttr_v11_t;

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
  ncclNetVDeviceProps_v11_t vProps; /* a physical device: itself */
  size_t maxP2pBytes;               /* per isend/irecv; 1 ... 2^40 */
  size_t maxCollBytes;              /* per collective call; 1 ... 2^40 */
  int maxMultiRequestSize;          /* requests that may share one completion; 1: no such thing */
} ncclNetProperties_v11_t;

typedef struct {
  const char* name;
  ncclResult_t (*init)(void** ctx, uint64_t commId, ncclNetCommConfig_v11_t* config, ncclDebugLogger_t logger,
                       ncclProfilerCallback_t profiler);
  ncclResult_t (*devices)(int* ndev);
  ncclResult_t (*getProperties)(int dev, ncclNetProperties_v11_t* props);
  ncclResult_t (*listen)(void* ctx, int dev, void* handle, void** listenComm);
  ncclResult_t (*connect)(void* ctx, int dev, void* handle, void** sendComm,
                          ncclNetDeviceHandle_v11_t** devComm);
  ncclResult_t (*accept)(void* listenComm, void** recvComm, ncclNetDeviceHandle_v11_t** devComm);
  ncclResult_t (*regMr)(void* comm, void* data, size_t size, int type, void** mhandle);
  ncclResult_t (*regMrDmaBuf)(void* comm, void* data, size_t size, int type, uint64_t offset, int fd,
                              void** mhandle);
  ncclResult_t (*deregMr)(void* comm, void* mhandle);
  ncclResult_t (*isend)(void* sendComm, void* data, size_t size, int tag, void* mhandle, void* phandle,
                        void** request);
  ncclResult_t (*irecv)(void* recvComm, int n, void** data, size_t* sizes, int* tags, void** mhandles,
                        void** phandles, void** request);
  ncclResult_t (*iflush)(void* recvComm, int n, void** data, int* sizes, void** mhandles, void** request);
  ncclResult_t (*test)(void* request, int* done, int* sizes);
  ncclResult_t (*closeSend)(void* sendComm);
  ncclResult_t (*closeRecv)(void* recvComm);
  ncclResult_t (*closeListen)(void* listenComm);
  ncclResult_t (*getDeviceMr)(void* comm, void* mhandle, void** deviceMhandle);
  ncclResult_t (*irecvConsumed)(void* recvComm, int n, void* request);
  ncclResult_t (*makeVDevice)(int* dev, ncclNetVDeviceProps_v11_t* props);
  ncclResult_t (*finalize)(void* ctx);
  ncclResult_t (*setNetAttr)(void* ctx, ncclNetAttr_v11_t* attr);
} ncclNet_v11_t;

#endif
