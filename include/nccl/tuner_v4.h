/* ncclTuner version 4, the newest of NCCL 2.24 to 2.27. Against v3: getCollInfo is told whether the buffers are
 * registered or may be. */
#ifndef FANIN_NCCL_TUNER_V4_H
#define FANIN_NCCL_TUNER_V4_H
#include "nccl/tuner_v3.h"

typedef struct {
  const char* name;
  ncclResult_t (*init)(size_t nRanks, size_t nNodes, ncclDebugLogger_t logger, void** context);
  ncclResult_t (*getCollInfo)(void* context, int collType, size_t nBytes, int numPipeOps, float** costTable,
                              int numAlgo, int numProto, int regBuff, int* nChannels);
  ncclResult_t (*destroy)(void* context);
} ncclTuner_v4_t;

#endif
