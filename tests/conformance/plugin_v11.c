/* ABI v11 end to end; see plugin_body.h. */
#define _GNU_SOURCE
#define V 11
#include "nccl/collnet_v11.h"
#include "nccl/net_v11.h"
/* after V */
#include "tests/conformance/plugin_body.h"
