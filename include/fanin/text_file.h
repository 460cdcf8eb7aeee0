// A file of a few lines that a user names: read whole, and nothing but a file of some size, since a pipe would be waited for and a
// device may have no end. Any thread.
#pragma once
#include <cstddef>
#include <string>

#include "fanin/error.h"

namespace fanin {

// At most 4 MiB. Errors name the file and the reason; kRemote: it is not there (it may come), else kInvalidUsage.
inline constexpr size_t kMaxTextFile = 4 << 20;
Result<std::string> read_text_file(const std::string& path);

}  // namespace fanin
