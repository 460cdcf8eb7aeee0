/* ncclCollNet version 10, the newest of NCCL 2.26 and 2.27. Nothing differs from v9 but the symbol. */
#ifndef FANIN_NCCL_COLLNET_V10_H
#define FANIN_NCCL_COLLNET_V10_H
#include "nccl/collnet_v9.h"
#include "nccl/net_v10.h"

typedef ncclNetSGE_v9_t ncclNetSGE_v10_t;
typedef ncclCollNet_v9_t ncclCollNet_v10_t;

#endif
