/* The layouts of include/nccl/ against the numbers NCCL's own headers give (64-bit): a field
 * that moved is a crash in someone's training job. Checked by the compiler; running it only says that it was
 * built. */
#include <stdio.h>

#include "nccl/collnet_v10.h"
#include "nccl/collnet_v11.h"
#include "nccl/collnet_v12.h"
#include "nccl/collnet_v6.h"
#include "nccl/collnet_v7.h"
#include "nccl/collnet_v8.h"
#include "nccl/collnet_v9.h"
#include "nccl/tuner_v6.h"

#define AT(type, field, offset) \
  _Static_assert(offsetof(type, field) == (offset), #type "." #field " is not at " #offset)
#define BYTES(type, size) _Static_assert(sizeof(type) == (size), #type " is not of " #size " bytes")
/* The n-th entry of a table, counted from 0; entry 0 is the name. */
#define ENTRY(type, field, n) AT(type, field, (n)*8)

AT(ncclNetProperties_v6_t, pciPath, 8);
AT(ncclNetProperties_v6_t, guid, 16);
AT(ncclNetProperties_v6_t, ptrSupport, 24);
AT(ncclNetProperties_v6_t, speed, 28);
AT(ncclNetProperties_v6_t, port, 32);
AT(ncclNetProperties_v6_t, latency, 36);
AT(ncclNetProperties_v6_t, maxComms, 40);
AT(ncclNetProperties_v6_t, maxRecvs, 44);
BYTES(ncclNetProperties_v6_t, 48);

AT(ncclNetProperties_v7_t, speed, 28);
AT(ncclNetProperties_v7_t, maxRecvs, 44);
AT(ncclNetProperties_v7_t, netDeviceType, 48);
AT(ncclNetProperties_v7_t, netDeviceVersion, 52);
BYTES(ncclNetProperties_v7_t, 56);

AT(ncclNetProperties_v8_t, regIsGlobal, 28);
AT(ncclNetProperties_v8_t, speed, 32);
AT(ncclNetProperties_v8_t, latency, 40);
AT(ncclNetProperties_v8_t, netDeviceType, 52);
AT(ncclNetProperties_v8_t, netDeviceVersion, 56);
BYTES(ncclNetProperties_v8_t, 64);

#define SINCE_V9(type)            \
  AT(type, regIsGlobal, 28);      \
  AT(type, forceFlush, 32);       \
  AT(type, speed, 36);            \
  AT(type, port, 40);             \
  AT(type, latency, 44);          \
  AT(type, maxComms, 48);         \
  AT(type, maxRecvs, 52);         \
  AT(type, netDeviceType, 56);    \
  AT(type, netDeviceVersion, 60); \
  AT(type, vProps, 64)
SINCE_V9(ncclNetProperties_v9_t);
SINCE_V9(ncclNetProperties_v10_t);
SINCE_V9(ncclNetProperties_v11_t);
SINCE_V9(ncclNetProperties_v12_t);
BYTES(ncclNetVDeviceProps_v9_t, 20);
BYTES(ncclNetVDeviceProps_v10_t, 20);
BYTES(ncclNetVDeviceProps_v11_t, 20);
BYTES(ncclNetVDeviceProps_v12_t, 36);
AT(ncclNetProperties_v9_t, maxP2pBytes, 88);
AT(ncclNetProperties_v9_t, maxCollBytes, 96);
BYTES(ncclNetProperties_v9_t, 104);
BYTES(ncclNetProperties_v10_t, 104);
AT(ncclNetProperties_v11_t, maxCollBytes, 96);
AT(ncclNetProperties_v11_t, maxMultiRequestSize, 104);
BYTES(ncclNetProperties_v11_t, 112);
AT(ncclNetProperties_v12_t, maxP2pBytes, 104);
AT(ncclNetProperties_v12_t, maxCollBytes, 112);
AT(ncclNetProperties_v12_t, maxMultiRequestSize, 120);
AT(ncclNetProperties_v12_t, railId, 124);
AT(ncclNetProperties_v12_t, planeId, 126);
BYTES(ncclNetProperties_v12_t, 128);

#define NET_ENTRIES(type)        \
  ENTRY(type, init, 1);          \
  ENTRY(type, devices, 2);       \
  ENTRY(type, getProperties, 3); \
  ENTRY(type, listen, 4);        \
  ENTRY(type, connect, 5);       \
  ENTRY(type, accept, 6);        \
  ENTRY(type, regMr, 7);         \
  ENTRY(type, regMrDmaBuf, 8);   \
  ENTRY(type, deregMr, 9);       \
  ENTRY(type, isend, 10);        \
  ENTRY(type, irecv, 11);        \
  ENTRY(type, iflush, 12);       \
  ENTRY(type, test, 13);         \
  ENTRY(type, closeSend, 14);    \
  ENTRY(type, closeRecv, 15);    \
  ENTRY(type, closeListen, 16)
NET_ENTRIES(ncclNet_v6_t);
NET_ENTRIES(ncclNet_v7_t);
NET_ENTRIES(ncclNet_v8_t);
NET_ENTRIES(ncclNet_v9_t);
NET_ENTRIES(ncclNet_v10_t);
NET_ENTRIES(ncclNet_v11_t);
NET_ENTRIES(ncclNet_v12_t);
ENTRY(ncclNet_v12_t, getDeviceMr, 17);
ENTRY(ncclNet_v12_t, irecvConsumed, 18);
ENTRY(ncclNet_v12_t, makeVDevice, 19);
ENTRY(ncclNet_v12_t, finalize, 20);
ENTRY(ncclNet_v12_t, setNetAttr, 21);
BYTES(ncclNet_v6_t, 17 * 8);
BYTES(ncclNet_v7_t, 19 * 8);
BYTES(ncclNet_v8_t, 19 * 8);
BYTES(ncclNet_v9_t, 20 * 8);
BYTES(ncclNet_v10_t, 20 * 8);
BYTES(ncclNet_v11_t, 22 * 8);
BYTES(ncclNet_v12_t, 22 * 8);
BYTES(ncclNetAttr_v11_t, 44);
BYTES(ncclNetCommConfig_v10_t, 4);

/* The first eleven entries are the same in all; from v8 on two more come before iflush. */
#define COLL_ENTRIES(type, iflush_at)      \
  ENTRY(type, listen, 4);                  \
  ENTRY(type, connect, 5);                 \
  ENTRY(type, reduceSupport, 6);           \
  ENTRY(type, regMr, 7);                   \
  ENTRY(type, regMrDmaBuf, 8);             \
  ENTRY(type, deregMr, 9);                 \
  ENTRY(type, iallreduce, 10);             \
  ENTRY(type, iflush, iflush_at);          \
  ENTRY(type, test, (iflush_at) + 1);      \
  ENTRY(type, closeColl, (iflush_at) + 2); \
  ENTRY(type, closeListen, (iflush_at) + 3)
COLL_ENTRIES(ncclCollNet_v6_t, 11);
COLL_ENTRIES(ncclCollNet_v7_t, 11);
COLL_ENTRIES(ncclCollNet_v8_t, 13);
COLL_ENTRIES(ncclCollNet_v9_t, 13);
COLL_ENTRIES(ncclCollNet_v10_t, 13);
COLL_ENTRIES(ncclCollNet_v11_t, 13);
COLL_ENTRIES(ncclCollNet_v12_t, 13);
ENTRY(ncclCollNet_v8_t, iallgather, 11);
ENTRY(ncclCollNet_v8_t, ireducescatter, 12);
ENTRY(ncclCollNet_v12_t, makeVDevice, 17);
ENTRY(ncclCollNet_v12_t, finalize, 18);
BYTES(ncclCollNet_v6_t, 15 * 8);
BYTES(ncclCollNet_v7_t, 15 * 8);
BYTES(ncclCollNet_v8_t, 17 * 8);
BYTES(ncclCollNet_v9_t, 18 * 8);
BYTES(ncclCollNet_v11_t, 19 * 8);
BYTES(ncclCollNet_v12_t, 19 * 8);
AT(ncclNetSGE_v8_t, size, 16);
BYTES(ncclNetSGE_v8_t, 24);
BYTES(ncclNetSGE_v9_t, 24);

#define TUNER_ENTRIES(type) \
  ENTRY(type, init, 1);     \
  ENTRY(type, getCollInfo, 2)
TUNER_ENTRIES(ncclTuner_v2_t);
TUNER_ENTRIES(ncclTuner_v3_t);
TUNER_ENTRIES(ncclTuner_v4_t);
TUNER_ENTRIES(ncclTuner_v5_t);
TUNER_ENTRIES(ncclTuner_v6_t);
ENTRY(ncclTuner_v2_t, destroy, 3);
ENTRY(ncclTuner_v3_t, destroy, 3);
ENTRY(ncclTuner_v4_t, destroy, 3);
ENTRY(ncclTuner_v5_t, finalize, 3);
ENTRY(ncclTuner_v6_t, finalize, 3);
ENTRY(ncclTuner_v6_t, getChunkSize, 4);
BYTES(ncclTuner_v2_t, 4 * 8);
BYTES(ncclTuner_v3_t, 4 * 8);
BYTES(ncclTuner_v4_t, 4 * 8);
BYTES(ncclTuner_v5_t, 4 * 8);
BYTES(ncclTuner_v6_t, 5 * 8);
BYTES(ncclNvlDomainInfo_v5_t, 12);
AT(ncclTunerConstants_v5_t, hwLatencies, 168);
AT(ncclTunerConstants_v5_t, llMaxBws, 672);
AT(ncclTunerConstants_v5_t, perChMaxNVLSTreeBws, 1056);
BYTES(ncclTunerConstants_v5_t, 1152);

int main(void) {
  puts("layouts of v6 to v12 are NCCL's; every header compiles alone as C11 and as C++20");
  return 0;
}
