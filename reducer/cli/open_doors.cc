#include "reducer/cli/open_doors.h"

#include <ifaddrs.h>

#include "transport/tcp/cidr.h"

namespace fanin::reducer::cli {
namespace {

// An address of the internet at which a listener can be reached (any address: one of this host's), or "".
std::string public_address(const tcp::Address& listen) {
  if (!listen.is_any()) return tcp::is_public(listen) ? listen.text() : "";
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return "";
  std::string found;
  for (ifaddrs* i = list; i && found.empty(); i = i->ifa_next) {
    if (!i->ifa_addr) continue;
    const int family = i->ifa_addr->sa_family;
    if (family != AF_INET && (family != AF_INET6 || listen.family() != AF_INET6)) continue;
    tcp::Address a(i->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    a.set_port(listen.port());
    if (tcp::is_public(a)) found = a.text();
  }
  ::freeifaddrs(list);
  return found;
}

std::string warning(const tcp::Address& listen, const char* what) {
  const std::string at = public_address(listen);
  return at.empty() ? "" : "warning: everyone who reaches " + at + what;
}

}  // namespace

std::string open_reducer_warning(const tcp::Address& listen) {
  return warning(listen,
                 " may use this reducer; give it --secret-file, --allow, or a private address to listen on "
                 "(docs/security.md)");
}

std::string open_status_warning(const tcp::Address& listen) {
  return warning(listen,
                 " may read peers' addresses, sizes and times at the status port, which asks for no secret; "
                 "give --allow, or --metrics a private address (docs/security.md)");
}

}  // namespace fanin::reducer::cli
