// Results in nccl-tests' columns, so that eyes and scripts that read those read these. Pure formatting; the
// bandwidth arithmetic is here too, so that every tool counts the same way.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "fanin/dtype.h"

namespace fanin::perf {

struct Bandwidth {
  double algorithm = 0, bus = 0;  // GB/s, 10^9 bytes
};
// bytes is the size column: the larger of what a rank gives and gets. Bus bandwidth is what each link carries
// in a ring.
Bandwidth bandwidth(Coll coll, uint64_t bytes, double seconds, int nranks);

struct Cell {
  double us = 0;  // per operation
  Bandwidth bw;
  std::optional<uint64_t> wrong;  // nullopt: not checked, "N/A"
};

struct Row {
  uint64_t bytes = 0, count = 0;
  std::string type, redop;  // redop "none" where nothing is reduced
  int root = -1;
  Cell out_of_place, in_place;
};

// Three lines. time_name is "time", or "cputime" where only the launching is timed.
std::string table_header(const char* time_name = "time");
std::string table_row(const Row& row);
// "# Out of bounds values : 0 OK" and "# Avg bus bandwidth    : 1.5 ".
std::string table_footer(uint64_t out_of_bounds, double mean_bus_bandwidth);

}  // namespace fanin::perf
