// The pool of reducers as a user names it (discovery.h has where).
//
//   host:port,host:port   names, IPv4, [IPv6], hosts as Slurm lists them: cpu[01-16]:4000
//   dns:name:port         every address of the name (a headless service), in ascending order
//   file:path             one host:port a line, # comments; read anew at each call
// Blocks (resolver, files): connect time only. Any thread.
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "fanin/error.h"
#include "transport/deadline.h"
#include "transport/tcp/address.h"

namespace fanin {

// One reducer as configured: the text for logs, and the addresses to try in order.
struct PoolMember {
  std::string name;  // "reducer-0.pool:4000"
  std::vector<tcp::Address> addresses;
  std::string unknown = "";  // no addresses: why its name does not resolve
};

// In the user's order, 4096 at most. Errors name the entry and the fix: unparsable, port 0 or above 65535, a duplicate, an unreadable
// file or what is none, an empty list (kInvalidUsage); no name that resolves, a file that is not there or empty (kRemote: it may come).
// family: AF_INET or AF_INET6 where dns: has both, since they are the same reducers twice. lookups: names that are not looked
// up until then are members without address; one look-up takes as long as the resolver lets it (resolv.conf).
Result<std::vector<PoolMember>> resolve_pool(const std::string& spec, int family = AF_UNSPEC,
                                             Deadline lookups = Deadline::never());

struct PoolWait {
  size_t expect = 0;  // reducers there will be; 0: those there are
  // How long there may be names that do not resolve, or fewer members than expected.
  Deadline until = Deadline::after(std::chrono::milliseconds(0));
  Deadline lookups = Deadline::never();         // of resolve_pool
  std::function<void(const std::string&)> say;  // gets a line when it takes long; may be empty
};
// resolve_pool, again and again until the pool is complete. Past the deadline what there is then, or the error.
Result<std::vector<PoolMember>> wait_for_pool(const std::string& spec, int family, const PoolWait& wait);

}  // namespace fanin
