// What isend and irecv give NCCL to test: a send or a receive in flight. Lives in its comm, which never
// moves.
#pragma once
#include <cstddef>

#include "fanin/error.h"

namespace fanin::plugin::net {

class Request {
 public:
  // As net::test().
  virtual Result<bool> test(size_t* sizes) = 0;

 protected:
  Request() = default;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  ~Request() = default;
};

}  // namespace fanin::plugin::net
