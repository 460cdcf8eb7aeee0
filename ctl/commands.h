// What fanin-ctl does. Blocks; prints to stdout. Errors are one line for stderr.
#pragma once
#include "ctl/options.h"
#include "fanin/error.h"

namespace fanin::ctl {

Status run(const Options& options);

}  // namespace fanin::ctl
