#include "topology/host/hwloc_api.h"

namespace fanin {

const HwlocApi& linked_hwloc() {
  static const HwlocApi api = {
      hwloc_get_api_version,         hwloc_topology_init,    hwloc_topology_set_io_types_filter,
      hwloc_topology_set_components, hwloc_topology_set_xml, hwloc_topology_load,
      hwloc_topology_destroy,        hwloc_get_obj_by_depth, hwloc_bitmap_next};
  return api;
}

}  // namespace fanin
