// One message there and back over one connection, blocking calls on both ends: the least a reduction over the same path
// can take. The server reads a whole message before it sends it back, as a reducer must before it has a sum.
#pragma once
#include <cstddef>
#include <string>

#include "fanin/error.h"

namespace fanin::perf {

struct EchoOptions {
  std::string address;  // HOST:PORT to listen on or connect to
  std::string port_file;
  size_t bytes = 32 << 10;
  int iters = 1000, warmup = 100;
};

Status serve_echo(const EchoOptions& options);  // until SIGTERM
// Prints p50, p99 and the mean in microseconds.
Status run_echo(const EchoOptions& options);

}  // namespace fanin::perf
