#include "topology/host/read_host.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <memory>

#include "transport/affinity.h"
#include "transport/link_speed.h"
#include "transport/sanitizers.h"

#ifdef FANIN_ASAN
#include <sanitizer/lsan_interface.h>
#endif

namespace fanin {
namespace {

constexpr double kBitsPerGigabyte = 8e9;

// PCI base classes (the upper byte of hwloc's class_id).
constexpr unsigned kDisplay = 0x03, kAccelerator = 0x12;
constexpr unsigned k3d = 0x0302;
constexpr unsigned kNvidia = 0x10de, kAmd = 0x1002;

bool is_gpu(const hwloc_obj_attr_u::hwloc_pcidev_attr_s& pci) {
  const unsigned base = pci.class_id >> 8;
  // Of what shows pictures, the vendors whose devices compute: not a server's management console.
  return pci.class_id == k3d || base == kAccelerator ||
         (base == kDisplay && (pci.vendor_id == kNvidia || pci.vendor_id == kAmd));
}

std::string busid(const hwloc_obj_attr_u::hwloc_pcidev_attr_s& pci) {
  char text[32];
  snprintf(text, sizeof text, "%04x:%02x:%02x.%x", static_cast<unsigned>(pci.domain), pci.bus, pci.dev,
           pci.func);
  return text;
}

std::string info(hwloc_obj_t o, std::string_view name) {
  for (unsigned i = 0; i < o->infos_count; ++i)
    if (name == o->infos[i].name) return o->infos[i].value;
  return "";
}

// Entities stand in the beginning of a document. An export has none; hwloc falls over them, and its parser reads files for
// them. A pipe can be read once only, which is for hwloc.
bool has_entities(const std::string& path) {
  struct stat about;
  if (::stat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) return false;
  std::string begin(1 << 16, '\0');
  std::ifstream in(path, std::ios::binary);
  in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return begin.find("<!ENTITY") != std::string::npos;
}

class Reader {
 public:
  Reader(const HwlocApi& hwloc, bool here) : hwloc_(hwloc), here_(here) {
    if (here) allowed_ = affinity_of_this_thread();
  }
  HostView read(hwloc_topology_t topology) {
    if (hwloc_obj_t root = hwloc_.get_obj_by_depth(topology, 0, 0)) visit(root, -1, {});
    return std::move(view_);
  }

 private:
  // The first node of a set of nodes; -1 when it has several: then the object is not near any.
  int only_node(hwloc_const_bitmap_t nodes) const {
    if (!nodes) return -1;
    const int first = hwloc_.bitmap_next(nodes, -1);
    return first >= 0 && hwloc_.bitmap_next(nodes, first) < 0 ? first : -1;
  }
  Cpus cpus(hwloc_const_bitmap_t set) const {
    Cpus out;
    for (int i = set ? hwloc_.bitmap_next(set, -1) : -1; i >= 0; i = hwloc_.bitmap_next(set, i))
      if (!here_ || std::binary_search(allowed_.begin(), allowed_.end(), static_cast<unsigned>(i)))
        out.push_back(static_cast<unsigned>(i));
    return out;
  }
  HostView::Device device(hwloc_obj_t pci, int node, const std::vector<uint64_t>& bridges) const {
    HostView::Device d;
    d.node = node;
    d.bridges = bridges;
    if (!pci) return d;
    d.pci = busid(pci->attr->pcidev);
    d.pci_rate = pci->attr->pcidev.linkspeed * kBitsPerGigabyte;
    const std::string vendor = info(pci, "PCIVendor"), model = info(pci, "PCIDevice");
    d.what = vendor + (vendor.empty() || model.empty() ? "" : " ") + model;
    return d;
  }

  // node: of the nearest object around it that is on one NUMA node only.
  // NOLINTNEXTLINE(misc-no-recursion)
  void visit(hwloc_obj_t o, int node, std::vector<uint64_t> bridges, hwloc_obj_t pci = nullptr) {
    if (o->nodeset) node = only_node(o->nodeset);
    switch (o->type) {
      case HWLOC_OBJ_NUMANODE:
        view_.numa.push_back({static_cast<int>(o->os_index), o->attr->numanode.local_memory});
        break;
      case HWLOC_OBJ_CORE:
        if (Cpus mine = cpus(o->cpuset); !mine.empty()) view_.cores.push_back({node, std::move(mine)});
        break;
      case HWLOC_OBJ_PU:
        // Virtual machines may show no cores.
        if (!below_core(o))
          if (Cpus mine = cpus(o->cpuset); !mine.empty()) view_.cores.push_back({node, std::move(mine)});
        break;
      case HWLOC_OBJ_BRIDGE:
        bridges.push_back(o->gp_index);
        break;
      case HWLOC_OBJ_PCI_DEVICE:
        pci = o;
        if (is_gpu(o->attr->pcidev)) {
          HostView::Device d = device(o, node, bridges);
          d.name = d.pci;
          view_.gpus.push_back(std::move(d));
        }
        break;
      case HWLOC_OBJ_OS_DEVICE:
        if (o->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK && o->name) {
          HostView::Device d = device(pci, node, bridges);
          d.name = o->name;
          if (here_) d.rate = 1e6 * link_speed(d.name);
          view_.nics.push_back(std::move(d));
        }
        break;
      default:
        break;
    }
    for (hwloc_obj_t c = o->memory_first_child; c; c = c->next_sibling) visit(c, node, bridges, pci);
    for (hwloc_obj_t c = o->first_child; c; c = c->next_sibling) visit(c, node, bridges, pci);
    for (hwloc_obj_t c = o->io_first_child; c; c = c->next_sibling) visit(c, node, bridges, pci);
  }
  static bool below_core(hwloc_obj_t o) {
    for (hwloc_obj_t p = o->parent; p; p = p->parent)
      if (p->type == HWLOC_OBJ_CORE) return true;
    return false;
  }

  const HwlocApi& hwloc_;
  const bool here_;
  Cpus allowed_;
  HostView view_;
};

// hwloc's PCI part leaks a little (libpciaccess) and is unloaded again, so that LeakSanitizer could not be told by its name.
int load(const HwlocApi& hwloc, hwloc_topology_t topology) {
#ifdef FANIN_ASAN
  const __lsan::ScopedDisabler not_ours;
#endif
  return hwloc.load(topology);
}

}  // namespace

Result<HostView> read_host(const HwlocApi& hwloc, const std::string& xml) {
  auto failed = [&](const char* what) {
    return system_error(std::string("hwloc cannot ") + what + (xml.empty() ? "" : " " + fanin::quoted(xml)),
                        errno != 0 ? errno : EIO, xml.empty() ? Errc::kSystem : Errc::kInvalidUsage);
  };
  errno = 0;
  if (!xml.empty() && access(xml.c_str(), R_OK) != 0) return failed("read");
  if (!xml.empty() && has_entities(xml))
    return Error(Errc::kInvalidUsage,
                 fanin::quoted(xml) + " has entities; give a file as lstopo --of xml writes it");
  hwloc_topology_t topology = nullptr;
  if (hwloc.init(&topology) != 0) return failed("begin");
  std::unique_ptr<hwloc_topology, decltype(hwloc.destroy)> owner(topology, hwloc.destroy);
  hwloc.set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  // PCI says what we ask; these would initialise drivers. Not all of them are there everywhere.
  for (const char* name : {"cuda", "nvml", "rsmi", "levelzero", "opencl", "gl"})
    hwloc.set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, name);
  if (!xml.empty() && hwloc.set_xml(topology, xml.c_str()) != 0) return failed("take");
  if (load(hwloc, topology) != 0) return failed(xml.empty() ? "look at this host" : "understand");
  return Reader(hwloc, xml.empty()).read(topology);
}

}  // namespace fanin
