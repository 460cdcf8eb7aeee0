// Runs a reducer for as long as the process lives: announces it, drains on SIGTERM, SIGINT or SIGUSR1, ends at once on
// a second one. With a file of secrets, reads it again when it changes and on SIGHUP. Blocks these signals in the
// calling thread, which must be the process's only one. Returns the exit code.
#pragma once
#include "reducer/cli/settings.h"

namespace fanin::reducer::cli {

inline constexpr int kExitFailure =
    1;  // the host refused something, or sessions were cut off by a second signal
inline constexpr int kExitUsage = 2;

int serve(ServeConfig config);

}  // namespace fanin::reducer::cli
