// A worker's connection on its way from the acceptor to its lane: Hello read, seat taken, Welcome sent. Plain
// value.
#pragma once
#include <memory>

#include "reducer/session_table.h"
#include "transport/stream.h"

namespace fanin::reducer {

struct Arrival {
  std::unique_ptr<Stream> stream;
  Session* session = nullptr;
  uint32_t lane = 0, rank = 0;
};

}  // namespace fanin::reducer
