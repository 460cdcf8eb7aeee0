// The release of the NCCL that loaded the plugin.
#pragma once

namespace fanin::plugin::collnet {

// NCCL's version code (2.26.5: 22605) by ncclGetVersion of the shared object that holds inside_nccl, a code address; 0
// when it cannot be told (NCCL linked statically with hidden symbols, a test's logger). Any thread.
int nccl_version(const void* inside_nccl);

}  // namespace fanin::plugin::collnet
