/* NCCL's environment plugin, versions 1 (NCCL 2.28 and 2.29) and 2 (2.30), restated from the published plugin ABI. NCCL
 * opens the library that NCCL_ENV_PLUGIN names, else a libnccl-env.so that the loader finds, once per process before it
 * looks at its first variable, and asks it for every variable from then on, from any thread.
 *
 * getEnv's string must stay valid until it is asked for the same name again, or finalize. NULL: not set. */
#ifndef FANIN_NCCL_ENV_V2_H
#define FANIN_NCCL_ENV_V2_H
#include "nccl/types.h"

typedef struct {
  const char* name; /* for NCCL's log */
  ncclResult_t (*init)(uint8_t ncclMajor, uint8_t ncclMinor, uint8_t ncclPatch, const char* suffix);
  ncclResult_t (*finalize)(void); /* at exit */
  const char* (*getEnv)(const char* name);
} ncclEnv_v1_t;

/* Against v1: init gets NCCL's logger. */
typedef struct {
  const char* name;
  ncclResult_t (*init)(uint8_t ncclMajor, uint8_t ncclMinor, uint8_t ncclPatch, const char* suffix,
                       ncclDebugLogger_t logFunction);
  ncclResult_t (*finalize)(void);
  const char* (*getEnv)(const char* name);
} ncclEnv_v2_t;

#endif
