// libnccl busy-waits in recv, poll and sched_yield. With more ranks than cores that starves the thread being
// waited for (communicators of 16 ranks took minutes on two cores), so its own imports of these three are
// redirected to versions that sleep a little when idle. Nobody else's are: a plugin's sockets keep their
// speed. CPUDEV_IMPOLITE leaves all alone.
#pragma once

namespace cpudev {

void install_polite_waits();

}  // namespace cpudev
