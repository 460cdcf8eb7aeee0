/* ncclTuner version 3, the newest of NCCL 2.22 and 2.23. Against v2: getCollInfo gets NCCL's own estimates and may change
 * them. costTable is declared float** and is float[numAlgo][numProto]: microseconds, -1 for what cannot be used. NCCL
 * takes the least. */
#ifndef FANIN_NCCL_TUNER_V3_H
#define FANIN_NCCL_TUNER_V3_H
#include "nccl/tuner_v2.h"

typedef struct {
  const char* name;
  ncclResult_t (*init)(size_t nRanks, size_t nNodes, ncclDebugLogger_t logger, void** context);
  ncclResult_t (*getCollInfo)(void* context, int collType, size_t nBytes, int numPipeOps, float** costTable,
                              int numAlgo, int numProto, int* nChannels);
  ncclResult_t (*destroy)(void* context);
} ncclTuner_v3_t;

#endif
