// The warning for the commonest mistake: reducers are configured, CollNet is not on, and NCCL says nothing
// about it.
#pragma once

namespace fanin::plugin::collnet {

// Warns once per load of the library when FANIN_REDUCERS is set and NCCL_COLLNET_ENABLE is not 1. The collnet
// tables' init calls it: NCCL calls that also when CollNet is off. Any thread.
void warn_if_collnet_off();

}  // namespace fanin::plugin::collnet
