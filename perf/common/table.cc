#include "perf/common/table.h"

#include <cstdarg>
#include <cstdio>

namespace fanin::perf {
namespace {

[[gnu::format(printf, 1, 2)]] std::string format(const char* fmt, ...) {
  char line[512];
  va_list args;
  va_start(args, fmt);
  vsnprintf(line, sizeof line, fmt, args);
  va_end(args);
  return line;
}

// As many decimals as fit the column, as nccl-tests prints numbers.
std::string number(double value, int width) {
  int digits = 0;
  for (double power = 1; value >= power && digits < 25; power *= 10) digits++;
  if (digits < width - 2) return format("%*.2f", width, value);
  if (digits < width - 1) return format("%*.1f", width, value);
  if (digits < width + 1) return format("%*.0f", width, value);
  return format("%*.*e", width, width >= 7 ? 1 : 0, value);
}

std::string cell(const Cell& c) {
  std::string text = "  " + number(c.us, 7) + "  " + number(c.bw.algorithm, 6) + "  " + number(c.bw.bus, 6);
  return text + (c.wrong ? format("  %6g", static_cast<double>(*c.wrong)) : "     N/A");
}

}  // namespace

Bandwidth bandwidth(Coll coll, uint64_t bytes, double seconds, int nranks) {
  Bandwidth b;
  if (seconds <= 0) return b;
  b.algorithm = static_cast<double>(bytes) / seconds / 1e9;
  const double n = nranks;
  b.bus = b.algorithm * (coll == Coll::kAllReduce ? 2 : 1) * (n - 1) / n;
  return b;
}

std::string table_header(const char* time_name) {
  const char* names = "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %6s  %7s  %6s  %6s  %6s \n";
  std::string text =
      format("# %10s  %12s  %8s  %6s  %6s           out-of-place                       in-place          \n",
             "", "", "", "", "");
  char line[256];
  snprintf(line, sizeof line, names, "size", "count", "type", "redop", "root", time_name, "algbw", "busbw",
           "#wrong", time_name, "algbw", "busbw", "#wrong");
  text += line;
  snprintf(line, sizeof line, names, "(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)",
           "(GB/s)", "(GB/s)", "");
  return text + line;
}

std::string table_row(const Row& row) {
  return format("%12llu  %12llu  %8s  %6s  %6d", static_cast<unsigned long long>(row.bytes),
                static_cast<unsigned long long>(row.count), row.type.c_str(), row.redop.c_str(), row.root) +
         cell(row.out_of_place) + cell(row.in_place) + "\n";
}

std::string table_footer(uint64_t out_of_bounds, double mean_bus_bandwidth) {
  return format("# %-20s : %llu %s\n", "Out of bounds values", static_cast<unsigned long long>(out_of_bounds),
                out_of_bounds ? "FAILED" : "OK") +
         format("# %-20s : %g \n", "Avg bus bandwidth", mean_bus_bandwidth);
}

}  // namespace fanin::perf
