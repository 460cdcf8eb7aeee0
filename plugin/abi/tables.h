// Every symbol the library exports (and no other: exports.map). NCCL takes the newest version it knows.
#pragma once
#include "nccl/collnet_v10.h"
#include "nccl/collnet_v11.h"
#include "nccl/collnet_v12.h"
#include "nccl/collnet_v6.h"
#include "nccl/collnet_v7.h"
#include "nccl/collnet_v8.h"
#include "nccl/collnet_v9.h"
#include "nccl/tuner_v6.h"

#pragma GCC visibility push(default)
extern "C" {
extern const ncclNet_v6_t ncclNetPlugin_v6;
extern const ncclNet_v7_t ncclNetPlugin_v7;
extern const ncclNet_v8_t ncclNetPlugin_v8;
extern const ncclNet_v9_t ncclNetPlugin_v9;
extern const ncclNet_v10_t ncclNetPlugin_v10;
extern const ncclNet_v11_t ncclNetPlugin_v11;
extern const ncclNet_v12_t ncclNetPlugin_v12;
extern const ncclCollNet_v6_t ncclCollNetPlugin_v6;
extern const ncclCollNet_v7_t ncclCollNetPlugin_v7;
extern const ncclCollNet_v8_t ncclCollNetPlugin_v8;
extern const ncclCollNet_v9_t ncclCollNetPlugin_v9;
extern const ncclCollNet_v10_t ncclCollNetPlugin_v10;
extern const ncclCollNet_v11_t ncclCollNetPlugin_v11;
extern const ncclCollNet_v12_t ncclCollNetPlugin_v12;
extern const ncclTuner_v2_t ncclTunerPlugin_v2;
extern const ncclTuner_v3_t ncclTunerPlugin_v3;
extern const ncclTuner_v4_t ncclTunerPlugin_v4;
extern const ncclTuner_v5_t ncclTunerPlugin_v5;
extern const ncclTuner_v6_t ncclTunerPlugin_v6;
}
#pragma GCC visibility pop
