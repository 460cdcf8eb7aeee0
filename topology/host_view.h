// What of a host matters for placing threads: which cores, memory, NICs and GPUs are near each other. A small value, so
// that decisions (placement.h) are pure and tests can write any host down. topology/host/ reads it with hwloc.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace fanin {

using Cpus = std::vector<unsigned>;  // logical CPUs as the kernel numbers them, ascending

struct HostView {
  struct Numa {
    int node = 0;  // as the kernel numbers it
    uint64_t memory = 0;
  };
  struct Core {
    int node = -1;  // where it is; -1: unknown
    Cpus cpus;      // its hardware threads that this process may use; never empty
  };
  struct Device {
    std::string name;     // NIC: "eth0"; GPU: its PCI address
    std::string pci;      // "0000:17:00.0"; "" for virtual ones
    std::string what;     // GPU: vendor and device as hwloc knows them
    int node = -1;        // -1: unknown
    double pci_rate = 0;  // bits per second of its PCI link; 0: unknown
    double rate = 0;      // NIC: bits per second of its network link; 0: unknown
    // PCI bridges above it, from the root complex down, by arbitrary numbers.
    std::vector<uint64_t> bridges;
  };
  std::vector<Numa> numa;
  std::vector<Core> cores;  // by package and number, as hwloc orders them
  std::vector<Device> nics, gpus;
};

// How far apart two devices are, nearest first.
enum class Distance {
  kSwitch,   // below one PCI switch or port
  kRoot,     // below one root complex
  kNode,     // on one NUMA node
  kHost,     // on different ones
  kUnknown,  // the host does not say
};
Distance distance(const HostView::Device& a, const HostView::Device& b);
const char* distance_text(Distance d);

// For each GPU the NIC it would use: the nearest; those equally near are taken in turn. Index into nics, -1: there is none.
std::vector<int> nic_of_gpus(const HostView& host);

// "0-3,8"
std::string cpus_text(const Cpus& cpus);

}  // namespace fanin
