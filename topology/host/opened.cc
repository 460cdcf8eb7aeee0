#include <dlfcn.h>

#include "topology/host/hwloc_api.h"

namespace fanin {
namespace {

constexpr unsigned kAbi = 2;  // the major version, in the upper half of what get_api_version tells

template <class F>
bool find(void* library, const char* name, F& out) {
  out = reinterpret_cast<F>(dlsym(library, name));
  return out != nullptr;
}

bool find_all(void* lib, HwlocApi& api) {
  return find(lib, "hwloc_get_api_version", api.get_api_version) && (api.get_api_version() >> 16) == kAbi &&
         find(lib, "hwloc_topology_init", api.init) &&
         find(lib, "hwloc_topology_set_io_types_filter", api.set_io_types_filter) &&
         find(lib, "hwloc_topology_set_components", api.set_components) &&
         find(lib, "hwloc_topology_set_xml", api.set_xml) && find(lib, "hwloc_topology_load", api.load) &&
         find(lib, "hwloc_topology_destroy", api.destroy) &&
         find(lib, "hwloc_get_obj_by_depth", api.get_obj_by_depth) &&
         find(lib, "hwloc_bitmap_next", api.bitmap_next);
}

}  // namespace

OpenedHwloc::OpenedHwloc() : library_(dlopen("libhwloc.so.15", RTLD_NOW | RTLD_LOCAL)) {
  if (!library_ || find_all(library_, api_)) return;
  dlclose(library_);
  library_ = nullptr;
}

OpenedHwloc::~OpenedHwloc() {
  if (library_) dlclose(library_);
}

}  // namespace fanin
