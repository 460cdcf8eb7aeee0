#include "fanin/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace fanin {
namespace {

Result<std::string> read_all(int fd, const std::string& what) {
  const auto failed = [&](int err) { return system_error(what, err, Errc::kInvalidUsage); };
  struct stat about;
  if (::fstat(fd, &about) != 0) return failed(errno);
  if (S_ISDIR(about.st_mode)) return failed(EISDIR);
  if (!S_ISREG(about.st_mode))
    return Error(Errc::kInvalidUsage, what + ": it is a pipe or a device, not a file");
  std::string text;
  std::array<char, 16384> bytes;
  for (;;) {
    const ssize_t n = ::read(fd, bytes.data(), bytes.size());
    if (n == 0) return text;
    if (n < 0 && errno != EINTR) return failed(errno);
    if (n > 0) text.append(bytes.data(), static_cast<size_t>(n));
    if (text.size() > kMaxTextFile) return Error(Errc::kInvalidUsage, what + ": it is longer than 4 MiB");
  }
}

}  // namespace

Result<std::string> read_text_file(const std::string& path) {
  const std::string what = "cannot read " + quoted(path);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return system_error(what, errno, errno == ENOENT ? Errc::kRemote : Errc::kInvalidUsage);
  Result<std::string> text = read_all(fd, what);
  ::close(fd);
  return text;
}

}  // namespace fanin
