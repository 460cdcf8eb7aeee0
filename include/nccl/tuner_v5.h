/* ncclTuner version 5, the newest of NCCL 2.28 to 2.30.1. Against v4: init's context comes first, and it gets the
 * communicator's id (equal on all ranks), its NVLink domains and the constants of NCCL's cost model, which it may change
 * before that is computed; destroy is called finalize. */
#ifndef FANIN_NCCL_TUNER_V5_H
#define FANIN_NCCL_TUNER_V5_H
#include "nccl/tuner_v4.h"

typedef struct {
  int nNvlDomains;
  int minRanksPerNvlDomain;
  int maxRanksPerNvlDomain;
} ncclNvlDomainInfo_v5_t;

/* By algorithm (7), protocol (3), link (NVLink, PCI, network), GPU generation (4) and number of nodes (1, 2, more). */
typedef struct {
  double baseLatencies[7][3];
  double hwLatencies[3][7][3];
  double llMaxBws[4][3];
  double perChMaxRingLL128Bws[4][3];
  double perChMaxTreeLL128Bws[4][3];
  double perChMaxTreeBws[4][3];
  double perChMaxNVLSTreeBws[4][3];
} ncclTunerConstants_v5_t;

typedef struct {
  const char* name;
  ncclResult_t (*init)(void** context, uint64_t commId, size_t nRanks, size_t nNodes,
                       ncclDebugLogger_t logger, ncclNvlDomainInfo_v5_t* nvlDomainInfo,
                       ncclTunerConstants_v5_t* constants);
  ncclResult_t (*getCollInfo)(void* context, int collType, size_t nBytes, int numPipeOps, float** costTable,
                              int numAlgo, int numProto, int regBuff, int* nChannels);
  ncclResult_t (*finalize)(void* context);
} ncclTuner_v5_t;

#endif
