#include "plugin/tuner/reopen.h"

#include <dlfcn.h>
#include <strings.h>

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
// Opens lib*.so as it is named and of everything else libnccl-tuner-NAME.so only: no path.
constexpr int kNoPaths = 22703;

bool opens(const std::string& name) {
  void* library = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library) dlclose(library);
  return library != nullptr;
}

// Whether NCCL finds a library for the tuner, and does not take the network's.
bool nccl_finds(const std::string& value, int version) {
  if (value.empty()) return opens("libnccl-tuner.so");
  if (version == kNoPaths)
    return opens(value.starts_with("lib") && value.ends_with(".so") ? value
                                                                    : "libnccl-tuner-" + value + ".so");
  // The program itself; NCCL takes any beginning of the word for it.
  if (strncasecmp(value.c_str(), "STATIC_PLUGIN", value.size()) == 0) return true;
  return opens(value) || opens("libnccl-tuner-" + value + ".so");
}

}  // namespace

void reopen_for_tuner(ncclDebugLogger_t logger) {
  static std::atomic<bool> done{false};
  const int version = collnet::nccl_version(reinterpret_cast<const void*>(logger));
  if (version < kFirst || version >= kFixed || done.exchange(true)) return;
  const char* const set = getenv(kVariable);
  const std::string value = set ? set : "";
  if (nccl_finds(value, version)) return;
  const bool none = strcasecmp(value.c_str(), "none") == 0;
  if (none) setenv("FANIN_TUNER", "0", 1);
  setenv(kVariable, kLibrary, 1);
  FANIN_INFO(NCCL_INIT | NCCL_ENV, "fanin: %s=%s, for an error of NCCL 2.26 to 2.27.5%s", kVariable, kLibrary,
             value.empty() ? ""
             : none        ? "; FANIN_TUNER=0, since it was none"
                           : ("; it was " + value + ", of which NCCL makes no library's name").c_str());
}

}  // namespace fanin::plugin::tuner
