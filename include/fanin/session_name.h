// How logs of workers and reducers name a session: the first 32 bits of its id, "3fa2c01b". Too little to join it.
#pragma once
#include <cstdio>
#include <string>

#include "fanin/wire.h"

namespace fanin {

inline std::string session_name(const wire::SessionId& id) {
  char text[9];
  snprintf(text, sizeof text, "%02x%02x%02x%02x", id[0], id[1], id[2], id[3]);
  return text;
}

}  // namespace fanin
