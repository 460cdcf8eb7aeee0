#include "reducer/metrics/process_usage.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

namespace fanin::reducer::metrics {
namespace {

uint64_t entries_of(const char* folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(folder), ::closedir);
  uint64_t n = 0;
  while (dir)
    if (const dirent* e = ::readdir(dir.get()); !e)
      break;
    else if (e->d_name[0] != '.')
      ++n;
  return n > 0 ? n - 1 : 0;  // without the one that reads
}

}  // namespace

ProcessUsage process_usage() {
  ProcessUsage u;
  rusage used{};
  if (::getrusage(RUSAGE_SELF, &used) == 0)
    u.cpu_seconds = static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                    static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) u.max_files = files.rlim_cur;
  u.open_files = entries_of("/proc/self/fd");
  if (const std::unique_ptr<FILE, int (*)(FILE*)> f(::fopen("/proc/self/statm", "re"), ::fclose); f) {
    unsigned long long size, resident;
    if (fscanf(f.get(), "%llu %llu", &size, &resident) == 2)
      u.resident_bytes = resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  }
  return u;
}

}  // namespace fanin::reducer::metrics
