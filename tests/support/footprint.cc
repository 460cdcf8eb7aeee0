#include "tests/support/footprint.h"

#include <dirent.h>

#include <cstdio>
#include <cstring>
#include <thread>

#include "tests/support/descriptors.h"
#include "transport/deadline.h"

namespace fanin::test {
namespace {

// Entries but "." and "..".
size_t entries(const std::string& folder) {
  DIR* dir = opendir(folder.c_str());
  if (!dir) return 0;
  size_t n = 0;
  while (const dirent* e = readdir(dir)) n += e->d_name[0] != '.';
  closedir(dir);
  return n;
}

size_t listeners_in(const char* table) {
  FILE* f = fopen(table, "re");
  if (!f) return 0;
  char line[512];
  size_t n = 0;
  unsigned state;
  while (fgets(line, sizeof line, f))
    n += sscanf(line, " %*s %*s %*s %x", &state) == 1 && state == 0x0a;  // TCP_LISTEN
  fclose(f);
  return n;
}

}  // namespace

Footprint Footprint::of(pid_t pid) {
  const std::string proc = "/proc/" + (pid == 0 ? std::string("self") : std::to_string(pid));
  Footprint f;
  f.descriptors = test::descriptors(pid).size();
  f.threads = entries(proc + "/task");
  if (FILE* file = fopen((proc + "/status").c_str(), "re")) {
    char line[256];
    while (fgets(line, sizeof line, file)) sscanf(line, "VmRSS: %zu kB", &f.resident_kib);
    fclose(file);
  }
  return f;
}

std::string Footprint::text() const {
  return std::to_string(descriptors) + " descriptors, " + std::to_string(threads) + " threads, " +
         std::to_string(resident_kib) + " KiB";
}

size_t anonymous_kib(pid_t pid) {
  size_t kib = 0;
  if (FILE* file = fopen(("/proc/" + std::to_string(pid) + "/smaps_rollup").c_str(), "re")) {
    char line[256];
    while (fgets(line, sizeof line, file)) sscanf(line, "Anonymous: %zu kB", &kib);
    fclose(file);
  }
  return kib;
}

size_t shared_segments() { return entries("/dev/shm"); }
size_t listening_ports() { return listeners_in("/proc/net/tcp") + listeners_in("/proc/net/tcp6"); }

bool within(std::chrono::milliseconds patience, const std::function<bool()>& f) {
  for (Deadline deadline = Deadline::after(patience);;
       std::this_thread::sleep_for(std::chrono::milliseconds(2))) {
    if (f()) return true;
    if (deadline.passed()) return f();
  }
}

}  // namespace fanin::test
