// FANIN_STRICT=1 made effective: NCCL ignores the error of a collnet connect and takes the ring all the same (seen on
// 2.28.9). So once reducers were asked for strictly and cannot be used, the point-to-point net of this process refuses its
// service with the same reason, and the job fails at its first transfer between nodes instead of running slowly.
//
// Set once per load of the library, by the first such connect. Any thread; reading is one load.
#pragma once
#include "fanin/error.h"

namespace fanin::plugin {

void refuse_service(const Error& reason);
// An error once service is refused.
Status service_refused();

}  // namespace fanin::plugin
