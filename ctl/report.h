// Two snapshots of a reducer, one after the other, as text for people. Pure.
#pragma once
#include <string>

#include "ctl/snapshot.h"

namespace fanin::ctl {

std::string status_text(const Snapshot& before, const Snapshot& now, const std::string& address);
std::string sessions_text(const Snapshot& before, const Snapshot& now);

}  // namespace fanin::ctl
