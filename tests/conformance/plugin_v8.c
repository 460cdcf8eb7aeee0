/* ABI v8 end to end; see plugin_body.h. */
#define _GNU_SOURCE
#define V 8
#include "nccl/collnet_v8.h"
#include "nccl/net_v8.h"
/* after V */
#include "tests/conformance/plugin_body.h"
