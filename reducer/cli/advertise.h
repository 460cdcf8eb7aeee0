// What a reducer tells its workers about its NICs: --advertise.
//
//   auto   all addresses of this host where it listens on all of them, else the one it listens on; speeds as the kernel knows
//   none   nothing: workers use the addresses they were given
//   list   addresses or interfaces, "10.0.0.7=100G,eth1=25G,fd00::7", with or without their link rates
#pragma once
#include <string>
#include <vector>

#include "fanin/error.h"
#include "transport/tcp/rail.h"

namespace fanin::reducer::cli {

// listen: where it will listen; ports do not matter. Errors name the entry.
Result<std::vector<tcp::Rail>> advertised(const std::string& text, const tcp::Address& listen);

}  // namespace fanin::reducer::cli
