// The functions of hwloc that fanin calls, as a table: tools link the library, the plugin, a guest in someone's process,
// opens it where it is there. All of them belong to version 2 of hwloc's ABI (libhwloc.so.15).
#pragma once
#include <hwloc.h>

namespace fanin {

struct HwlocApi {
  decltype(&::hwloc_get_api_version) get_api_version;
  decltype(&::hwloc_topology_init) init;
  decltype(&::hwloc_topology_set_io_types_filter) set_io_types_filter;
  decltype(&::hwloc_topology_set_components) set_components;
  decltype(&::hwloc_topology_set_xml) set_xml;
  decltype(&::hwloc_topology_load) load;
  decltype(&::hwloc_topology_destroy) destroy;
  decltype(&::hwloc_get_obj_by_depth) get_obj_by_depth;
  decltype(&::hwloc_bitmap_next) bitmap_next;
};

// The linked library; in libfanin-hwloc.a.
const HwlocApi& linked_hwloc();
// libhwloc.so.15, open as long as the object lives, if it is there and is what it says.
class OpenedHwloc {
 public:
  OpenedHwloc();
  ~OpenedHwloc();
  OpenedHwloc(const OpenedHwloc&) = delete;
  OpenedHwloc& operator=(const OpenedHwloc&) = delete;
  // Null: not there.
  const HwlocApi* api() const { return library_ ? &api_ : nullptr; }

 private:
  void* library_;
  HwlocApi api_{};
};

}  // namespace fanin
