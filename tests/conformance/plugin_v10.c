/* ABI v10 end to end; see plugin_body.h. */
#define _GNU_SOURCE
#define V 10
#include "nccl/collnet_v10.h"
#include "nccl/net_v10.h"
/* after V */
#include "tests/conformance/plugin_body.h"
