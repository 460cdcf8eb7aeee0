#include "perf/kernels/summary.h"

#include <algorithm>
#include <cstdio>

namespace fanin::perf {
namespace {

struct Group {
  const char* name;
  double goal;  // from L2
};
constexpr Group kGroups[] = {{"float double ints", .9}, {"half bfloat16", .8}, {"f8e4m3 f8e5m2", .5}};

size_t group_of(DType type) {
  switch (type) {
    case DType::kF16:
    case DType::kBF16:
      return 1;
    case DType::kE4M3:
    case DType::kE5M2:
      return 2;
    default:
      return 0;
  }
}

// "0.91  1.02  half n=2", of the smallest, the median and the case of the smallest.
std::string column(std::vector<KernelResult> cases) {
  if (cases.empty()) return "   -     -";
  std::sort(cases.begin(), cases.end(), [](const auto& a, const auto& b) { return a.ratio < b.ratio; });
  const KernelResult& least = cases.front();
  const size_t middle = cases.size() / 2;
  const double median =
      cases.size() % 2 != 0 ? cases[middle].ratio : (cases[middle - 1].ratio + cases[middle].ratio) / 2;
  char text[80];
  snprintf(text, sizeof text, "%5.2f %5.2f  %s n=%zu", least.ratio, median, dtype_name(least.type), least.n);
  return text;
}

}  // namespace

std::string kernel_summary(const std::vector<KernelResult>& results) {
  std::string text =
      "Kernel speed / memory loop's    L2:                              DRAM:\n"
      "types              op    goal    min   med  least                  min   med  least\n";
  for (size_t g = 0; g < std::size(kGroups); g++) {
    for (int o = 0; o < kNumRedOps; o++) {
      std::vector<KernelResult> l2, dram;
      for (const KernelResult& r : results) {
        if (group_of(r.type) == g && r.op == static_cast<RedOp>(o)) (r.dram ? dram : l2).push_back(r);
      }
      if (l2.empty() && dram.empty()) continue;
      char line[200];
      snprintf(line, sizeof line, "%-18s %-4s  %4.2f  %-33s%s\n", kGroups[g].name,
               redop_name(static_cast<RedOp>(o)), kGroups[g].goal, column(l2).c_str(), column(dram).c_str());
      text += line;
    }
  }
  return text;
}

}  // namespace fanin::perf
