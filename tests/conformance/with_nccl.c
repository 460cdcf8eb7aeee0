/* NCCL's own nccl.h and our headers in one file, as in a program that uses both; codes must agree. Where no
 * nccl.h is installed this is one skipped test. */
#include <stdio.h>

#ifdef HAVE_NCCL_H
#include <nccl.h>

#include "nccl/collnet_v12.h"

_Static_assert((int)ncclSystemError == 2 && (int)ncclInternalError == 3 && (int)ncclInvalidArgument == 4,
               "results");
_Static_assert((int)ncclInvalidUsage == 5 && (int)ncclRemoteError == 6 && (int)ncclInProgress == 7,
               "results");
_Static_assert((int)ncclInt8 == 0 && (int)ncclUint8 == 1 && (int)ncclInt32 == 2 && (int)ncclUint32 == 3,
               "types");
_Static_assert((int)ncclInt64 == 4 && (int)ncclUint64 == 5 && (int)ncclFloat16 == 6 && (int)ncclFloat32 == 7,
               "types");
_Static_assert((int)ncclFloat64 == 8 && (int)ncclBfloat16 == 9, "types");
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 24, 0)
_Static_assert((int)ncclFloat8e4m3 == 10 && (int)ncclFloat8e5m2 == 11, "types");
#endif
_Static_assert((int)ncclSum == 0 && (int)ncclProd == 1 && (int)ncclMax == 2 && (int)ncclMin == 3,
               "operators");

int main(void) {
  printf("nccl.h %d and include/nccl agree\n", NCCL_VERSION_CODE);
  return 0;
}
#else
int main(void) {
  puts("no nccl.h found; install NCCL's headers or set NCCL_HOME to compare with it");
  return 77;
}
#endif
