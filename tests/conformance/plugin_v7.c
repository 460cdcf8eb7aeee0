/* ABI v7 end to end; see plugin_body.h. */
#define _GNU_SOURCE
#define V 7
#include "nccl/collnet_v7.h"
#include "nccl/net_v7.h"
/* after V */
#include "tests/conformance/plugin_body.h"
