/* ABI v12 end to end; see plugin_body.h. */
#define _GNU_SOURCE
#define V 12
#include "nccl/collnet_v12.h"
#include "nccl/net_v12.h"
/* after V */
#include "tests/conformance/plugin_body.h"
