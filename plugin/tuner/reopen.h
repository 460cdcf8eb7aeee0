// NCCL 2.26.0 to 2.27.5 crash where the tuner is in the network plugin's library, as ours is: they take the library for the tuner
// without opening it once more, and unmap it with the tuner while the network is still used.
#pragma once
#include "nccl/types.h"

namespace fanin::plugin::tuner {

// On those releases, sets NCCL_TUNER_PLUGIN to our library's name where NCCL would take our library as it is: the variable is not
// set, or names no library. NCCL then opens it a second time. It looks at the variable after the net table's init, which is
// where this is called. A tuner of the user's stays; "none", which those releases do not know and later ones do, becomes
// FANIN_TUNER=0 (so before options are read). Both are in the environment since the library may be unmapped and come again.
// logger: NCCL's, by which its release is found. Any thread, like enable_or_warn (collnet/enable.h).
void reopen_for_tuner(ncclDebugLogger_t logger);

}  // namespace fanin::plugin::tuner
