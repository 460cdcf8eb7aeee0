// The job's secret as FANIN_SECRET_FILE or FANIN_SECRET give it. Reads the file at each call, so that a new communicator
// uses a renewed one. Service threads only (blocks).
#pragma once
#include <optional>

#include "fanin/error.h"
#include "fanin/secret.h"
#include "plugin/options.h"

namespace fanin::plugin {

// Null: neither is set. Error (kInvalidUsage): both are, or what they give is no secret; then nobody may be
// spoken to without.
Result<std::optional<Secret>> job_secret(const Options& options);

}  // namespace fanin::plugin
