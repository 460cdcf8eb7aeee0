#include "plugin/stats_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "transport/fd.h"

namespace fanin::plugin {

std::string stats_path(std::string_view pattern, const std::string& host, int pid) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : 0;
    if (next == 'h')
      out += host, ++i;
    else if (next == 'p')
      out += std::to_string(pid), ++i;
    else if (next == '%')
      out += '%', ++i;
    else
      out += pattern[i];
  }
  return out;
}

Status append_line(const std::string& path, std::string_view line) {
  const auto failed = [&](int err) {
    return system_error("cannot write " + printable(path), err, Errc::kInvalidUsage);
  };
  Fd fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644));
  if (!fd) return failed(errno);
  ssize_t n;
  do n = ::write(fd.get(), line.data(), line.size());
  while (n < 0 && errno == EINTR);
  if (n < 0) return failed(errno);
  if (n == static_cast<ssize_t>(line.size())) return {};
  // The disk is full. Half a line would spoil the next one too: it is taken back, unless somebody's follows it.
  struct stat about;
  const off_t end = ::lseek(fd.get(), 0, SEEK_CUR);
  if (::fstat(fd.get(), &about) == 0 && S_ISREG(about.st_mode) && end == about.st_size)
    if (::ftruncate(fd.get(), end - n) != 0) return failed(errno);
  return failed(ENOSPC);
}

}  // namespace fanin::plugin
