// The figures that matter of a run: per group of types and operator the smallest and the median ratio of a
// kernel's speed to the memory loop's, from L2 and from DRAM, against the goal. Pure; not thread-safe.
#pragma once
#include <string>
#include <vector>

#include "fanin/dtype.h"

namespace fanin::perf {

struct KernelResult {
  DType type;
  RedOp op;
  size_t n = 0;
  bool dram = false;  // else L2
  double ratio = 0;   // memory loop's time / kernel's time
};

// A header line, one line per group and operator with results, and the worst case's name.
std::string kernel_summary(const std::vector<KernelResult>& results);

}  // namespace fanin::perf
