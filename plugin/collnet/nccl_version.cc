#include "plugin/collnet/nccl_version.h"

#include <dlfcn.h>

namespace fanin::plugin::collnet {

int nccl_version(const void* inside_nccl) {
  Dl_info object{};
  if (!inside_nccl || !dladdr(inside_nccl, &object) || !object.dli_fname) return 0;
  // Only what is loaded anyway; it is not in the global scope where a framework loaded it.
  void* library = dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return 0;
  using GetVersion = int (*)(int*);
  const auto get = reinterpret_cast<GetVersion>(dlsym(library, "ncclGetVersion"));
  int version = 0;
  if (!get || get(&version) != 0) version = 0;
  dlclose(library);
  return version;
}

}  // namespace fanin::plugin::collnet
