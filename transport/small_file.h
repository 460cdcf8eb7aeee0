// Reads a configuration file or one of the kernel's, through a descriptor that no child inherits. Any thread.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

namespace fanin {

// The first `most` bytes; null: errno says why not.
std::optional<std::string> read_small_file(const std::string& path, size_t most = 1 << 20);
// Its first line, without the end; "" when there is none or it cannot be read.
std::string first_line_of(const std::string& path);

}  // namespace fanin
