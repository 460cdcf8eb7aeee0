// The job's secret as FANIN_SECRET_FILE or FANIN_SECRET give it. Reads the file at each call, so that a new communicator
// uses a renewed one. Service threads only (blocks).
#pragma once
#include <optional>
#include <string>

#include "fanin/error.h"
#include "fanin/secret.h"
#include "plugin/options.h"

namespace fanin::plugin {

// Null: neither is set. Error (kInvalidUsage): both are, or what they give is no secret; then nobody may be
// spoken to without.
Result<std::optional<Secret>> job_secret(const Options& options);

// The secret another rank's handle names (zero: that rank has none), for what this rank connects to. Any that this process
// has read at some time will do: the other rank may have read its file before or after it was renewed.
// Error (kInvalidUsage): the two ranks do not share it; says what to do. whose: "the rank at 10.0.0.7:4000".
Result<std::optional<Secret>> shared_secret(const Options& options, const wire::KeyId& key,
                                            const std::string& whose);

}  // namespace fanin::plugin
