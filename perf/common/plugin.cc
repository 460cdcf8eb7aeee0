#include "perf/common/plugin.h"

#include <dlfcn.h>

#include <cstdlib>

#include "perf/common/plugin_log.h"

namespace fanin::perf {

Result<Plugin> Plugin::open(const std::string& path) {
  Plugin p;
  setenv("FANIN_TUNER", "0", 0);  // without NCCL nobody asks what a session would measure at its start
  p.handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!p.handle_) return Error(Errc::kInvalidUsage, std::string("cannot load the plugin: ") + dlerror());
  p.net_ = static_cast<const ncclNet_v12_t*>(dlsym(p.handle_, "ncclNetPlugin_v12"));
  p.collnet_ = static_cast<const ncclCollNet_v12_t*>(dlsym(p.handle_, "ncclCollNetPlugin_v12"));
  if (!p.net_ || !p.collnet_)
    return Error(Errc::kInvalidUsage, path + " has no " +
                                          (p.net_ ? "ncclCollNetPlugin_v12" : "ncclNetPlugin_v12") +
                                          "; it is no fanin plugin or one older than this program");
  return p;
}

Plugin::Plugin(Plugin&& o) noexcept
    : handle_(std::exchange(o.handle_, nullptr)),
      net_(std::exchange(o.net_, nullptr)),
      collnet_(std::exchange(o.collnet_, nullptr)) {}

Plugin& Plugin::operator=(Plugin&& o) noexcept {
  std::swap(handle_, o.handle_);
  std::swap(net_, o.net_);
  std::swap(collnet_, o.collnet_);
  return *this;
}

Plugin::~Plugin() {
  if (handle_) dlclose(handle_);
}

const char* result_name(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "ncclSuccess";
    case ncclUnhandledCudaError:
      return "ncclUnhandledCudaError";
    case ncclSystemError:
      return "ncclSystemError";
    case ncclInternalError:
      return "ncclInternalError";
    case ncclInvalidArgument:
      return "ncclInvalidArgument";
    case ncclInvalidUsage:
      return "ncclInvalidUsage";
    case ncclRemoteError:
      return "ncclRemoteError";
    case ncclInProgress:
      return "ncclInProgress";
  }
  return "an unknown result";
}

Error call_failed(const char* call, ncclResult_t result, Where where) {
  std::string text = std::string(call) + ": " + result_name(result);
  if (std::string why = last_plugin_warning(); !why.empty()) text += " (" + why + ")";
  return Error(result == ncclRemoteError ? Errc::kRemote : Errc::kSystem, text, where);
}

}  // namespace fanin::perf
