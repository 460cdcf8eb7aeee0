#include "plugin/collnet/notice.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "plugin/log.h"
#include "plugin/options.h"

namespace fanin::plugin::collnet {

void warn_if_collnet_off() {
  static std::atomic<bool> said{false};
  const char* enable = getenv("NCCL_COLLNET_ENABLE");
  if (options().reducers.empty() || (enable && strcmp(enable, "1") == 0) || said.exchange(true)) return;
  FANIN_WARN(
      "FANIN_REDUCERS is set but NCCL_COLLNET_ENABLE is not 1: NCCL will not use the reducers unless CollNet "
      "is turned on "
      "otherwise (ncclConfig_t.collnetEnable, an environment plugin, nccl.conf)");
}

}  // namespace fanin::plugin::collnet
