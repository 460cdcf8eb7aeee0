/* ncclTuner version 2, the newest of NCCL 2.21, restated from the published plugin ABI. NCCL looks for it in the library
 * NCCL_TUNER_PLUGIN names, in libnccl-tuner.so, and then in the network plugin's library. init runs once per
 * communicator, after its networks have connected; getCollInfo for every collective, on the thread that launches it. All
 * ranks of a communicator must answer alike. */
#ifndef FANIN_NCCL_TUNER_V2_H
#define FANIN_NCCL_TUNER_V2_H
#include "nccl/types.h"

/* NCCL's numbers; later releases have more collectives behind these. */
enum {
  NCCL_TUNER_BROADCAST = 0,
  NCCL_TUNER_REDUCE = 1,
  NCCL_TUNER_ALL_GATHER = 2,
  NCCL_TUNER_REDUCE_SCATTER = 3,
  NCCL_TUNER_ALL_REDUCE = 4
};
enum {
  NCCL_TUNER_TREE = 0,
  NCCL_TUNER_RING = 1,
  NCCL_TUNER_COLLNET_DIRECT = 2,
  NCCL_TUNER_COLLNET_CHAIN = 3,
  NCCL_TUNER_NVLS = 4,
  NCCL_TUNER_NVLS_TREE = 5,
  NCCL_TUNER_PAT = 6 /* 2.23 */
};
enum { NCCL_TUNER_LL = 0, NCCL_TUNER_LL128 = 1, NCCL_TUNER_SIMPLE = 2 };

typedef struct {
  const char* name;
  ncclResult_t (*init)(size_t nRanks, size_t nNodes, ncclDebugLogger_t logger, void** context);
  /* Outputs may be left alone; algorithm and protocol are set together or not at all. nChannels: 0 or what NCCL shall
   * use. */
  ncclResult_t (*getCollInfo)(void* context, int collType, size_t nBytes, int collNetSupport, int nvlsSupport,
                              int numPipeOps, int* algorithm, int* protocol, int* nChannels);
  ncclResult_t (*destroy)(void* context);
} ncclTuner_v2_t;

#endif
