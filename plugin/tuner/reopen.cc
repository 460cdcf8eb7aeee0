#include "plugin/tuner/reopen.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <string>

#include "plugin/collnet/nccl_version.h"
#include "plugin/log.h"

namespace fanin::plugin::tuner {
namespace {

constexpr const char* kVariable = "NCCL_TUNER_PLUGIN";
// Without a folder: the loader knows the library by it, as it is open already.
constexpr const char* kLibrary = "libnccl-net-fanin.so";
constexpr int kFirst = 22600, kFixed = 22706;

bool opens(const std::string& name) {
  void* library = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library) dlclose(library);
  return library != nullptr;
}

}  // namespace

void reopen_for_tuner(ncclDebugLogger_t logger) {
  static std::atomic<bool> done{false};
  const int version = collnet::nccl_version(reinterpret_cast<const void*>(logger));
  if (version < kFirst || version >= kFixed || done.exchange(true)) return;
  const char* value = getenv(kVariable);
  if (!value || !*value) {
    // Where there is a tuner's library of the usual name, NCCL takes that one.
    if (opens("libnccl-tuner.so")) return;
    setenv(kVariable, kLibrary, 1);
    FANIN_INFO(NCCL_INIT | NCCL_ENV, "fanin: %s=%s, for an error of NCCL 2.26 to 2.27.5", kVariable,
               kLibrary);
    return;
  }
  if (opens(value) || opens("libnccl-tuner-" + std::string(value) + ".so")) return;
  FANIN_WARN(
      "%s=%s names no library: NCCL up to 2.27.5 then crashes when a communicator ends. Unset it "
      "(FANIN_TUNER=0 turns fanin's off)",
      kVariable, value);
}

}  // namespace fanin::plugin::tuner
