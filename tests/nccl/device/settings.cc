#include "tests/nccl/device/settings.h"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace cpudev {
namespace {

constexpr int kFirstBus = 0x10;
thread_local int t_device = 0;

int env_int(const char* name, int fallback) {
  const char* v = getenv(name);
  return v && *v ? atoi(v) : fallback;
}

}  // namespace

// Function-local statics: this library's constructor may run before its namespace-scope objects are built.
int device_count() {
  static const int n = env_int("CPUDEV_DEVICES", 8);
  return n;
}
int compute_capability() {
  static const int n = env_int("CPUDEV_SM", 80);
  return n;
}
bool gpu_direct() {
  static const bool on = env_int("CPUDEV_GDR", 0) != 0;
  return on;
}
bool verbose() {
  static const bool on = env_int("CPUDEV_VERBOSE", 0) != 0;
  return on;
}
int device_bus(int device) { return kFirstBus + device; }
int device_of_bus(int bus) { return bus - kFirstBus; }

int current_device() { return t_device; }
void set_current_device(int device) { t_device = device; }

void logf(const char* format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  fprintf(stderr, "cpudev[%d]: %s\n", getpid(), text);
}

}  // namespace cpudev
