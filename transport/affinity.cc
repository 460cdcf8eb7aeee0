#include "transport/affinity.h"

#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace fanin {
namespace {

constexpr unsigned kMostCpus = 16384, kMostNodes = 1024;
constexpr unsigned kBits = 8 * sizeof(unsigned long);
using CpuMask = std::array<cpu_set_t, kMostCpus / CPU_SETSIZE>;

}  // namespace

std::vector<unsigned> affinity_of_this_thread() {
  CpuMask mask{};
  std::vector<unsigned> out;
  if (sched_getaffinity(0, sizeof mask, mask.data()) != 0) return out;
  for (unsigned i = 0; i < kMostCpus; ++i)
    if (CPU_ISSET_S(i, sizeof mask, mask.data())) out.push_back(i);
  return out;
}

Status run_this_thread_on(std::span<const unsigned> cpus) {
  CpuMask mask{};
  for (unsigned c : cpus)
    if (c < kMostCpus) CPU_SET_S(c, sizeof mask, mask.data());
  if (sched_setaffinity(0, sizeof mask, mask.data()) != 0) return system_error("sched_setaffinity", errno);
  return {};
}

Status prefer_node(void* mapping, size_t bytes, int node) {
  if (node < 0 || static_cast<unsigned>(node) >= kMostNodes)
    return Error(Errc::kInvalidArgument, "NUMA node " + std::to_string(node) + " is impossible");
  const auto n = static_cast<unsigned>(node);
  std::array<unsigned long, kMostNodes / kBits> nodes{};
  nodes[n / kBits] = 1ul << n % kBits;
  // The kernel takes one off the number of bits.
  if (syscall(SYS_mbind, mapping, bytes, MPOL_PREFERRED, nodes.data(), kMostNodes + 1, 0) != 0)
    return system_error("mbind", errno);
  return {};
}

}  // namespace fanin
