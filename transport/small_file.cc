#include "transport/small_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "transport/fd.h"

namespace fanin {

std::optional<std::string> read_small_file(const std::string& path, size_t most) {
  // A pipe would be waited for.
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat about;
  if (!fd || ::fstat(fd.get(), &about) != 0) return std::nullopt;
  if (!S_ISREG(about.st_mode)) {
    errno = S_ISDIR(about.st_mode) ? EISDIR : ESPIPE;
    return std::nullopt;
  }
  std::string out;
  char piece[4096];
  while (out.size() < most) {
    const ssize_t n = ::read(fd.get(), piece, std::min(sizeof piece, most - out.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::nullopt;
    if (n == 0) break;
    out.append(piece, static_cast<size_t>(n));
  }
  return out;
}

std::string first_line_of(const std::string& path) {
  const std::string text = read_small_file(path, 4096).value_or("");
  return text.substr(0, text.find('\n'));
}

}  // namespace fanin
