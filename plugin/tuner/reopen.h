// NCCL 2.26.0 to 2.27.5 crash where the tuner is in the network plugin's library, as ours is: they take the library for the tuner
// without opening it once more, and unmap it with the tuner while the network is still used.
#pragma once
#include "nccl/types.h"

namespace fanin::plugin::tuner {

// On those releases, sets NCCL_TUNER_PLUGIN to our library's name unless the variable is set: NCCL then opens it a second time.
// It looks at the variable after the net table's init, which is where this is called. A value that names no library is warned
// about, since NCCL then takes ours all the same. logger: NCCL's, by which its release is found. Any thread, like
// enable_or_warn (collnet/enable.h).
void reopen_for_tuner(ncclDebugLogger_t logger);

}  // namespace fanin::plugin::tuner
