/* A tuner for measuring only (nccl_settings.py, chunk=BYTES): NCCL 2.30 and later asks it for the size of chunks, and it says
 * LAB_CHUNK for all of them. NCCL cuts that to an eighth of NCCL_BUFFSIZE. */
#include <stdlib.h>

#include "nccl/tuner_v6.h"

static ncclResult_t init(void** context, uint64_t id, size_t ranks, size_t nodes, ncclDebugLogger_t logger,
                         ncclNvlDomainInfo_v5_t* domain, ncclTunerConstants_v5_t* constants) {
  (void)id, (void)ranks, (void)nodes, (void)logger, (void)domain, (void)constants;
  *context = NULL;
  return ncclSuccess;
}

static ncclResult_t get_coll_info(void* context, int coll, size_t bytes, int pipe_ops, float** costs,
                                  int algorithms, int protocols, int registered, int* channels) {
  (void)context, (void)coll, (void)bytes, (void)pipe_ops, (void)costs, (void)algorithms, (void)protocols;
  (void)registered, (void)channels;
  return ncclSuccess;
}

static ncclResult_t get_chunk_size(void* context, int coll, size_t bytes, int algorithm, int protocol,
                                   int channels, size_t* chunk) {
  (void)context, (void)coll, (void)bytes, (void)algorithm, (void)protocol, (void)channels;
  const char* wanted = getenv("LAB_CHUNK");
  if (wanted) *chunk = strtoull(wanted, NULL, 0);
  return ncclSuccess;
}

static ncclResult_t finalize(void* context) {
  (void)context;
  return ncclSuccess;
}

__attribute__((visibility("default")))
const ncclTuner_v6_t ncclTunerPlugin_v6 = {.name = "lab",
                                           .init = init,
                                           .getCollInfo = get_coll_info,
                                           .finalize = finalize,
                                           .getChunkSize = get_chunk_size};
