// What a reducer says at start about listeners that the internet can reach and nothing guards.
#pragma once
#include <string>

#include "transport/tcp/address.h"

namespace fanin::reducer::cli {

// The warnings, or "" where the listener has no public address: about a reducer without secrets and --allow, and about a
// status port without --allow (it asks for no secret).
std::string open_reducer_warning(const tcp::Address& listen);
std::string open_status_warning(const tcp::Address& listen);

}  // namespace fanin::reducer::cli
