// This host's name, for people; "?" where it has none.
#pragma once
#include <unistd.h>

#include <string>

namespace fanin::plugin {

inline std::string host_name() {
  char name[256] = "?";
  ::gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace fanin::plugin
