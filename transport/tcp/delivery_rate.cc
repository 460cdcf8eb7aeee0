// Apart, because the C library's <netinet/tcp.h> knows an older tcp_info.
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>

#include "transport/tcp/socket.h"

namespace fanin::tcp {

uint64_t delivery_rate(int fd) {
  tcp_info info{};
  socklen_t len = sizeof info;
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0) return 0;
  if (len < offsetof(tcp_info, tcpi_delivery_rate) + sizeof info.tcpi_delivery_rate)
    return 0;  // an older kernel
  return info.tcpi_delivery_rate;
}

}  // namespace fanin::tcp
