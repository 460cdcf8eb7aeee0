// Address space put aside for when the process has no more: under a limit (ulimit -v, strict overcommit) an allocation that
// fails would end the reducer and all its sessions. operator new takes from here instead, piece by piece, and whoever joins
// is refused until the reserve is whole again; those who are in need little.
//
// For the whole process, so the program's affair and not the library's. Any thread.
#pragma once

namespace fanin::reducer::cli {

// Makes the reserve, or makes it whole again. False: there is no memory for it now.
bool keep_memory_reserve();

}  // namespace fanin::reducer::cli
