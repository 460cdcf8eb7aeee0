// Whether NCCL will use CollNet at all, which is off unless NCCL_COLLNET_ENABLE is 1: turned on where the plugin can, and
// else the warning for the commonest mistake, reducers configured, CollNet not on, and NCCL silent about it.
#pragma once
#include "nccl/types.h"

namespace fanin::plugin::collnet {

// The collnet tables' init calls it; NCCL calls that also when CollNet is off. Acts when a pool is named (topology/discovery.h),
// FANIN_COLLNET is not 0 and NCCL_COLLNET_ENABLE is set neither in the environment nor by a loaded environment plugin:
//   NCCL up to 2.26 looks at the variable after this call: it is set to 1 (INFO);
//   later releases have looked already: warns, once per load of the library.
// A variable that is set to anything but 1 is warned about and left. logger: NCCL's, a function within libnccl, by which
// its release is found. Any thread, before the process has threads that read the environment unguarded (NCCL's init).
void enable_or_warn(ncclDebugLogger_t logger);

}  // namespace fanin::plugin::collnet
