/* ABI v6 end to end; see plugin_body.h. */
#define _GNU_SOURCE
#define V 6
#include "nccl/collnet_v6.h"
#include "nccl/net_v6.h"
/* after V */
#include "tests/conformance/plugin_body.h"
