#include "reducer/cli/host_limits.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace fanin::reducer::cli {
namespace {

// The folders that limit this process: its cgroup of the controller ("" for v2) and all above it. In a
// container the path of /proc/self/cgroup may be the host's; then only the root, which is the container's,
// exists.
std::vector<std::string> cgroup_folders(const std::string& controller) {
  std::vector<std::string> out;
  std::string root = "/sys/fs/cgroup" + (controller.empty() ? "" : "/" + controller);
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    std::string names = "," + line.substr(first + 1, second - first - 1) + ",";
    if (controller.empty() ? names != ",," : names.find("," + controller + ",") == std::string::npos)
      continue;
    for (std::string path = line.substr(second + 1); path.size() > 1; path.resize(path.rfind('/')))
      out.push_back(root + path);
  }
  out.push_back(root);
  return out;
}

std::optional<double> number_in(const std::string& path, int nth = 0) {
  std::ifstream in(path);
  std::string word;
  for (int i = 0; i <= nth; ++i)
    if (!(in >> word)) return std::nullopt;
  char* end;
  double v = strtod(word.c_str(), &end);
  if (*end != 0 || v <= 0) return std::nullopt;  // "max", -1: no limit
  return v;
}

}  // namespace

double cpu_quota() {
  double cpus = std::numeric_limits<double>::infinity();
  auto quota = [&](std::optional<double> runtime, std::optional<double> period) {
    if (runtime && period) cpus = std::min(cpus, *runtime / *period);
  };
  for (auto& f : cgroup_folders("")) quota(number_in(f + "/cpu.max"), number_in(f + "/cpu.max", 1));
  for (auto& f : cgroup_folders("cpu"))
    quota(number_in(f + "/cpu.cfs_quota_us"), number_in(f + "/cpu.cfs_period_us"));
  return cpus;
}

uint64_t usable_memory() {
  double bytes = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  auto limit = [&](std::optional<double> v) { bytes = std::min(bytes, v.value_or(bytes)); };
  for (auto& f : cgroup_folders("")) limit(number_in(f + "/memory.max"));
  for (auto& f : cgroup_folders("memory")) limit(number_in(f + "/memory.limit_in_bytes"));
  rlimit address_space{};
  if (getrlimit(RLIMIT_AS, &address_space) == 0 && address_space.rlim_cur != RLIM_INFINITY)
    limit(static_cast<double>(address_space.rlim_cur));
  return static_cast<uint64_t>(bytes);
}

void raise_open_files() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= files.rlim_max) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace fanin::reducer::cli
