// The pool of reducers as a user names it: FANIN_REDUCERS.
//
//   host:port,host:port   names, IPv4, [IPv6]
//   dns:name:port         every address of the name (a headless service)
//   file:path             one host:port a line, # comments; read anew at each call
// Blocks (resolver, files): connect time only. Any thread.
#pragma once
#include <string>
#include <vector>

#include "fanin/error.h"
#include "transport/tcp/address.h"

namespace fanin {

// One reducer as configured: the text for logs, and the addresses to try in order.
struct PoolMember {
  std::string name;  // "reducer-0.pool:4000"
  std::vector<tcp::Address> addresses;
};

// In the user's order. Errors name the entry and the fix: unparsable, port 0 or above 65535, a name that does
// not resolve, a duplicate, an unreadable file, an empty list.
Result<std::vector<PoolMember>> resolve_pool(const std::string& spec);

}  // namespace fanin
