// A stand-in libnvidia-ml.so.1: as many devices as the CPU device has, each with CPUDEV_NVLINKS links (12) to
// a switch that is not visible in /sys, which NCCL takes for an NVSwitch. Without one it refuses
// CollNetDirect.
//
// libcpudev.so needs this library, so NCCL's own dlopen of the name finds it loaded already, whatever the
// search path.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr unsigned kFirstBus = 0x10;  // as in tests/nccl/device/settings.cc
enum Status { kOk = 0, kInvalid = 2, kNotSupported = 3, kNotFound = 6 };

int env_int(const char* name, int fallback) {
  const char* v = getenv(name);
  return v && *v ? atoi(v) : fallback;
}
unsigned count() { return static_cast<unsigned>(env_int("CPUDEV_DEVICES", 8)); }
unsigned links() { return static_cast<unsigned>(env_int("CPUDEV_NVLINKS", 12)); }

using Handle = void*;  // index + 1
Handle handle_of(unsigned index) { return reinterpret_cast<Handle>(uintptr_t{index} + 1); }

// The first layout of nvmlPciInfo. NCCL's buffer has only these 52 bytes: the newer, longer one would smash
// its stack.
struct PciInfo {
  char bus_id[16];
  unsigned domain, bus, device, id, subsystem, reserved[4];
};
static_assert(sizeof(PciInfo) == 52);

struct FieldValue {
  unsigned id, scope;
  long long when, latency;
  int type, status;
  union {
    unsigned u;
    double d;
  } value;
};
constexpr unsigned kFieldLinkState = 165;

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int nvmlInit() { return kOk; }
int nvmlInit_v2() { return kOk; }
int nvmlShutdown() { return kOk; }
const char* nvmlErrorString(int) { return "CPU device NVML error"; }
int nvmlDeviceGetCount_v2(unsigned* n) {
  *n = count();
  return kOk;
}
int nvmlDeviceGetCount(unsigned* n) { return nvmlDeviceGetCount_v2(n); }
int nvmlDeviceGetHandleByIndex(unsigned index, Handle* d) {
  if (index >= count()) return kInvalid;
  *d = handle_of(index);
  return kOk;
}
int nvmlDeviceGetHandleByPciBusId(const char* text, Handle* d) {
  unsigned domain, bus;
  if (sscanf(text, "%x:%x", &domain, &bus) != 2 || bus < kFirstBus || bus - kFirstBus >= count())
    return kNotFound;
  *d = handle_of(bus - kFirstBus);
  return kOk;
}
int nvmlDeviceGetIndex(Handle d, unsigned* index) {
  *index = static_cast<unsigned>(reinterpret_cast<uintptr_t>(d) - 1);
  return kOk;
}
int nvmlDeviceGetCudaComputeCapability(Handle, int* major, int* minor) {
  const int c = env_int("CPUDEV_SM", 80);
  *major = c / 10;
  *minor = c % 10;
  return kOk;
}
// Over NVLink anything but OK is a fatal error for NCCL, although no peer access is used.
int nvmlDeviceGetP2PStatus(Handle, Handle, int, int* status) {
  *status = 0;
  return kOk;
}
int nvmlDeviceGetNvLinkState(Handle, unsigned link, int* up) {
  *up = link < links();
  return kOk;
}
int nvmlDeviceGetNvLinkCapability(Handle, unsigned link, int, unsigned* v) {
  *v = link < links();
  return kOk;
}
int nvmlDeviceGetNvLinkRemotePciInfo(Handle, unsigned, PciInfo* p) {
  memset(p, 0, sizeof *p);
  snprintf(p->bus_id, sizeof p->bus_id, "0000:C0:00.0");
  return kOk;
}
// NCCL 2.30.7 and later ask for these without looking whether they exist.
int nvmlDeviceGetPciInfo_v3(Handle d, PciInfo* p) {
  memset(p, 0, sizeof *p);
  p->bus = kFirstBus + static_cast<unsigned>(reinterpret_cast<uintptr_t>(d) - 1);
  snprintf(p->bus_id, sizeof p->bus_id, "0000:%02x:00.0", p->bus);
  p->id = 0x20b010de;  // an A100
  p->subsystem = p->id;
  return kOk;
}
int nvmlDeviceGetCurrPcieLinkGeneration(Handle, unsigned* generation) {
  *generation = 4;
  return kOk;
}
int nvmlDeviceGetCurrPcieLinkWidth(Handle, unsigned* lanes) {
  *lanes = 16;
  return kOk;
}
// From sm_90 on, NCCL asks for the link state by field.
int nvmlDeviceGetFieldValues(Handle, int n, FieldValue* f) {
  for (int i = 0; i < n; i++) {
    f[i].status = f[i].id == kFieldLinkState ? kOk : kNotSupported;
    f[i].value.u = f[i].scope < links();
  }
  return kOk;
}

}  // extern "C"
#pragma GCC visibility pop
