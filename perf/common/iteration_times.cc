#include "perf/common/iteration_times.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace fanin::perf {

Result<std::vector<double>> iteration_times(Group& group, const std::vector<double>& ends) {
  auto all =
      group.all_gather(std::string(reinterpret_cast<const char*>(ends.data()), ends.size() * sizeof(double)));
  if (!all) return all.error();
  std::vector<double> times = ends;
  for (const std::string& of_rank : *all)
    for (size_t i = 0; i < times.size(); i++) {
      double t;
      memcpy(&t, of_rank.data() + i * sizeof t, sizeof t);
      times[i] = std::max(times[i], t);
    }
  for (size_t i = times.size(); i-- > 1;) times[i] -= times[i - 1];
  std::sort(times.begin(), times.end());
  return times;
}

}  // namespace fanin::perf
