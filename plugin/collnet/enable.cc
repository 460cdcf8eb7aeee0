#include "plugin/collnet/enable.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "nccl/env_v2.h"
#include "plugin/collnet/nccl_version.h"
#include "plugin/log.h"
#include "plugin/options.h"

namespace fanin::plugin::collnet {
namespace {

constexpr const char* kVariable = "NCCL_COLLNET_ENABLE";
constexpr int kReadBeforePlugins = 22700;  // the first release that looks at the variable before it opens us

// As NCCL sees it: from 2.28 an environment plugin, ours or another, is asked instead of the environment.
const char* as_nccl_sees(const char* name) {
  if (void* library = dlopen("libnccl-env.so", RTLD_LAZY | RTLD_NOLOAD)) {
    const char* value = nullptr;
    if (const auto* v2 = static_cast<const ncclEnv_v2_t*>(dlsym(library, "ncclEnvPlugin_v2")))
      value = v2->getEnv(name);
    else if (const auto* v1 = static_cast<const ncclEnv_v1_t*>(dlsym(library, "ncclEnvPlugin_v1")))
      value = v1->getEnv(name);
    dlclose(library);
    if (value) return value;
  }
  return getenv(name);
}

}  // namespace

void enable_or_warn(ncclDebugLogger_t logger) {
  static std::atomic<bool> done{false};
  const PoolSource& pool = options().pool;
  if (pool.from.empty() || pool.off || !options().collnet || done.exchange(true)) return;
  const char* const from = pool.from.c_str();
  if (pool.spec.empty()) {
    // A platform's variable may well name no reducers.
    if (pool.from == "FANIN_REDUCERS")
      FANIN_WARN("%s; NCCL will not use reducers", pool.trouble.c_str());
    else
      FANIN_INFO(NCCL_INIT | NCCL_ENV, "no reducers: %s", pool.trouble.c_str());
    return;
  }
  const char* value = as_nccl_sees(kVariable);
  if (value && strcmp(value, "1") == 0) return;
  if (value) {
    FANIN_WARN(
        "%s is set but %s is %s: NCCL will not use the reducers. Set it to 1, or FANIN_COLLNET=0 "
        "to be "
        "rid of this warning",
        from, kVariable, *value ? value : "empty");
    return;
  }
  const int version = nccl_version(reinterpret_cast<const void*>(logger));
  if (version > 0 && version < kReadBeforePlugins && setenv(kVariable, "1", 0) == 0) {
    FANIN_INFO(NCCL_INIT | NCCL_ENV, "%s=1, since %s is set (FANIN_COLLNET=0 keeps it off)", kVariable, from);
    return;
  }
  FANIN_WARN(
      "%s is set but %s is not 1: NCCL will not use the reducers unless CollNet is turned on "
      "otherwise "
      "(ncclConfig_t.collnetEnable). Set it to 1, or put libnccl-env.so of fanin on the library path (NCCL "
      "2.28 "
      "and later)",
      from, kVariable);
}

}  // namespace fanin::plugin::collnet
