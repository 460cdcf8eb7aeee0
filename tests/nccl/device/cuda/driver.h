// The driver API's functions by name, as NCCL asks for them through cudaGetDriverEntryPointByVersion. Any
// thread.
#pragma once

namespace cpudev {

// Null when this device does not offer it; a thunk that counts calls otherwise, the same one each time.
void* driver_function(const char* name);

}  // namespace cpudev
