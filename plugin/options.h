// The plugin's options, read from the environment once per load of the library into one immutable struct.
//
// Reading warns (once) about unknown FANIN_* names and bad values and keeps the default for those; see
// include/fanin/options.h for names, ranges and meaning. Thread-safe.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "topology/discovery.h"
#include "transport/tcp/port_range.h"

namespace fanin::plugin {

struct Options {
  PoolSource pool;
  size_t expect_reducers = 0;       // 0: as many as there are
  std::string secret_file, secret;  // see plugin/job_secret.h
  bool strict = false;
  bool collnet = true;  // may be turned on by us
  std::chrono::milliseconds connect_timeout{};
  std::chrono::milliseconds timeout{};  // 0: for ever
  std::chrono::milliseconds stall{};    // 0: never
  std::chrono::milliseconds keepalive{30000};
  uint64_t window = 0;
  bool checksums = false;
  uint64_t min_slice = 0;
  unsigned io_threads = 0;  // 0: choose
  bool affinity = true;
  int poll_us = -1;                     // -1: choose
  unsigned net_sockets = 0;             // 0: choose
  std::optional<tcp::PortRange> ports;  // to listen on; none: any
  std::optional<double>
      worker_bw;  // bits per second of the node's NICs together, 0: unknown; none: ask the kernel
  std::string stats_file;
  bool tuner = true;
  std::string tuner_file;
};

// First call reads the environment; later calls return the same object.
const Options& options();
// What options() would read now; for tests and for options() itself.
Options read_options();

}  // namespace fanin::plugin
