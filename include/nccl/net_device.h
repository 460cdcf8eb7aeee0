/* Device offload of ncclNet (from v7): a plugin may let the GPU unpack what it received. fanin does not; the
 * types are here because the tables mention them. Restated from the published plugin ABI; plain values. */
#ifndef FANIN_NCCL_NET_DEVICE_H
#define FANIN_NCCL_NET_DEVICE_H
#include "nccl/types.h"

typedef enum { NCCL_NET_DEVICE_HOST = 0, NCCL_NET_DEVICE_UNPACK = 1 } ncclNetDeviceType;
enum { NCCL_NET_DEVICE_INVALID_VERSION = 0 };

typedef struct {
  ncclNetDeviceType netDeviceType;
  int netDeviceVersion;
  void* handle;
  size_t size;
  int needsProxyProgress;
} ncclNetDeviceHandle_v7_t;
/* The handle is the same in every version since. */
typedef ncclNetDeviceHandle_v7_t ncclNetDeviceHandle_v8_t;
typedef ncclNetDeviceHandle_v7_t ncclNetDeviceHandle_v9_t;
typedef ncclNetDeviceHandle_v7_t ncclNetDeviceHandle_v10_t;
typedef ncclNetDeviceHandle_v7_t ncclNetDeviceHandle_v11_t;
typedef ncclNetDeviceHandle_v7_t ncclNetDeviceHandle_v12_t;

#endif
