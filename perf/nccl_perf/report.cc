#include "perf/nccl_perf/report.h"

#include <cerrno>
#include <cmath>
#include <fstream>
#include <sstream>

#include "fanin/json.h"

namespace fanin::nccl_perf {
namespace {

std::string quoted(const std::string& text) { return Json().value(text).text(); }

std::string list(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& t : texts) out += (out.empty() ? "" : ", ") + quoted(t);
  return "[" + out + "]";
}

void cell(std::ostream& o, const Options& options, const perf::Cell& c) {
  o << "{\"" << (options.cputime ? "cpu_time" : "time") << "\": " << c.us
    << ", \"alg_bw\": " << c.bw.algorithm << ", \"bus_bw\": " << c.bw.bus << ", \"nwrong\": ";
  c.wrong ? o << *c.wrong : o << "null";
  o << "}";
}

double mean_bus_bandwidth(const std::vector<perf::Row>& rows) {
  double sum = 0;
  for (const perf::Row& r : rows) sum += r.out_of_place.bw.bus + r.in_place.bw.bus;
  return rows.empty() ? 0 : sum / static_cast<double>(rows.size()) / 2;
}

const char* coll_option(Coll c) {
  return c == Coll::kAllReduce ? "all_reduce" : c == Coll::kAllGather ? "all_gather" : "reduce_scatter";
}

}  // namespace

void Report::begin(int nccl_headers, int nccl_library, const std::vector<std::string>& devices,
                   const std::string& note) {
  const Options& o = options_;
  const bool factor = o.step_factor > 1;
  nccl_library_ = nccl_library;
  devices_ = devices;
  printf("# fanin-nccl-perf nccl-headers=%d nccl-library=%d\n", nccl_headers, nccl_library);
  printf("# Collective test starting: %s\n", coll_option(o.coll));
  printf(
      "# nThread %d nGpus %d minBytes %llu maxBytes %llu step: %llu(%s) warmup iters: %d iters: %d agg "
      "iters: %d validation: %d graph: 0\n",
      1, o.gpus, static_cast<unsigned long long>(o.min_bytes), static_cast<unsigned long long>(o.max_bytes),
      static_cast<unsigned long long>(factor ? o.step_factor : o.step_bytes), factor ? "factor" : "bytes",
      o.warmup, o.iters, o.agg_iters, o.checks);
  if (o.blocking) printf("# Blocking Enabled: wait for completion and barrier after each collective\n");
  printf("#\n# Using devices\n");
  for (const std::string& d : devices) printf("#  %s\n", d.c_str());
  if (!note.empty()) printf("# %s\n", note.c_str());
  printf("#\n%s", perf::table_header(o.cputime ? "cputime" : "time").c_str());
  fflush(stdout);
}

void Report::row(const perf::Row& row) {
  printf("%s", perf::table_row(row).c_str());
  fflush(stdout);
  rows_.push_back(row);
  wrong_ += row.out_of_place.wrong.value_or(0) + row.in_place.wrong.value_or(0);
}

Status Report::end() {
  printf("%s#\n# Collective test concluded: %s\n",
         perf::table_footer(wrong_, mean_bus_bandwidth(rows_)).c_str(), coll_option(options_.coll));
  fflush(stdout);
  if (options_.json.empty()) return {};
  std::ofstream file(options_.json, std::ios::trunc);
  file << json();
  file.close();
  if (!file) return system_error("cannot write '" + options_.json + "'", errno);
  return {};
}

// The keys are those of nccl-tests' own JSON.
std::string Report::json() const {
  const Options& o = options_;
  std::ostringstream j;
  j.precision(9);
  j << "{\n\"version\": 1,\n\"args\": " << list(o.argv) << ",\n\"nccl_version\": " << nccl_library_
    << ",\n\"config\": {\"collective\": \"" << coll_option(o.coll) << "\", \"nranks\": " << nranks_
    << ", \"ngpus\": " << o.gpus << ", \"minimum_bytes\": " << o.min_bytes
    << ", \"maximum_bytes\": " << o.max_bytes
    << (o.step_factor > 1 ? ", \"step_factor\": " : ", \"step_bytes\": ")
    << (o.step_factor > 1 ? o.step_factor : o.step_bytes) << ", \"warmup_iters\": " << o.warmup
    << ", \"iterations\": " << o.iters << ", \"aggregated_iterations\": " << o.agg_iters
    << ", \"validation\": " << o.checks << ", \"devices\": " << list(devices_) << "},\n\"results\": [";
  for (size_t i = 0; i < rows_.size(); i++) {
    const perf::Row& r = rows_[i];
    j << (i ? ",\n" : "\n") << "{\"size\": " << r.bytes << ", \"count\": " << r.count << ", \"type\": \""
      << r.type << "\", \"redop\": \"" << r.redop << "\", \"root\": " << r.root << ", \"out_of_place\": ";
    cell(j, o, r.out_of_place);
    j << ", \"in_place\": ";
    cell(j, o, r.in_place);
    j << "}";
  }
  j << "\n],\n\"out_of_bounds\": {\"count\": " << wrong_ << ", \"okay\": " << (wrong_ ? "false" : "true")
    << "},\n\"average_bus_bandwidth\": {\"bandwidth\": " << mean_bus_bandwidth(rows_) << "}\n}\n";
  return j.str();
}

}  // namespace fanin::nccl_perf
