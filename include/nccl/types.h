/* NCCL's result, type and operator codes and its plugin logger, in C, restated from the published plugin ABI.
 *
 * When NCCL's own <nccl.h> was included before, its definitions are used. Plain values; no ownership. */
#ifndef FANIN_NCCL_TYPES_H
#define FANIN_NCCL_TYPES_H
#include <stddef.h>
#include <stdint.h>

#ifndef NCCL_H_
/* A later NCCL may pass values these lists do not have: with a fixed type C++ may look at those as well. */
#ifdef __cplusplus
#define FANIN_NCCL_FIXED : unsigned
#else
#define FANIN_NCCL_FIXED
#endif
typedef enum FANIN_NCCL_FIXED {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7
} ncclResult_t;

typedef enum FANIN_NCCL_FIXED {
  ncclSum = 0,
  ncclProd = 1,
  ncclMax = 2,
  ncclMin = 3,
  ncclAvg = 4
} ncclRedOp_t;

typedef enum FANIN_NCCL_FIXED {
  ncclInt8 = 0,
  ncclUint8 = 1,
  ncclInt32 = 2,
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat16 = 6,
  ncclFloat32 = 7,
  ncclFloat64 = 8,
  ncclBfloat16 = 9,
  ncclFloat8e4m3 = 10,
  ncclFloat8e5m2 = 11
} ncclDataType_t;
#endif

/* Levels and subsystem bits of the logger NCCL hands to init. */
enum {
  NCCL_LOG_NONE = 0,
  NCCL_LOG_VERSION = 1,
  NCCL_LOG_WARN = 2,
  NCCL_LOG_INFO = 3,
  NCCL_LOG_ABORT = 4,
  NCCL_LOG_TRACE = 5
};
enum { NCCL_INIT = 1, NCCL_COLL = 2, NCCL_P2P = 4, NCCL_NET = 16, NCCL_ENV = 128, NCCL_TUNING = 64 };
typedef void (*ncclDebugLogger_t)(int level, unsigned long flags, const char* file, int line, const char* fmt,
                                  ...);

/* Memory a buffer lives in (ptrSupport is a mask of these). */
enum { NCCL_PTR_HOST = 1, NCCL_PTR_CUDA = 2, NCCL_PTR_DMABUF = 4 };

enum { NCCL_NET_HANDLE_MAXSIZE = 128, NCCL_NET_MAX_REQUESTS = 32, NCCL_NET_MAX_RECVS = 8 };

#endif
