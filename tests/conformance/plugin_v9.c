/* ABI v9 end to end; see plugin_body.h. */
#define _GNU_SOURCE
#define V 9
#include "nccl/collnet_v9.h"
#include "nccl/net_v9.h"
/* after V */
#include "tests/conformance/plugin_body.h"
