#include "perf/fanin_perf/report.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "fanin/json.h"
#include "perf/common/table.h"
#include "perf/fanin_perf/syscall_count.h"

namespace fanin::perf {
namespace {

std::string number(const std::optional<double>& v, const char* format) {
  if (!v) return "-";
  char text[32];
  snprintf(text, sizeof text, format, *v);
  return text;
}

void optional_value(Json& j, const char* key, const std::optional<double>& v) {
  j.key(key);
  if (v)
    j.value(*v);
  else
    j.null();
}

}  // namespace

const char* coll_option(Coll c) {
  return c == Coll::kAllReduce ? "all_reduce" : c == Coll::kAllGather ? "all_gather" : "reduce_scatter";
}

Report::Report(const Options& options, const RunFacts& facts)
    : options_(options), facts_(facts), terminal_(isatty(2) != 0) {
  printf("# fanin-perf: %s of %s (%s), %d ranks, %s, %u channels, connected in %.0f ms\n",
         coll_option(options_.coll), dtype_name(options_.type), redop_name(options_.op), options_.nranks,
         options_.ring ? "ring over the plugin's ncclNet" : "fanin", options_.channels,
         facts_.connect_s * 1e3);
  if (!options_.ring)
    printf("# reducers: %s%s\n", facts_.pool.c_str(), facts_.local_reducers > 0 ? " (started here)" : "");
  printf(
      "# %d timed iterations back to back after %d; times in us, bandwidths in GB/s; cores: CPU seconds per "
      "second, of\n"
      "# all ranks (their polling progress threads apart) and all reducers; calls: system calls for I/O per "
      "MB\n",
      options_.iters, options_.warmup);
  printf("#%11s %12s %10s %10s %10s %8s %8s %7s %15s %9s %15s\n", "size", "count", "mean", "median", "min",
         "algbw", "busbw", "wrong", "worker cores", "reducer", "calls/MB");
  printf("#%11s %12s %10s %10s %10s %8s %8s %7s %15s %9s %15s\n", "(B)", "(elements)", "", "", "", "", "", "",
         "i/o + progress", "cores", "worker reducer");
  fflush(stdout);
}

void Report::progress(const std::string& text) {
  if (!terminal_) return;
  fprintf(stderr, "\r\033[K%s", text.c_str());
  fflush(stderr);
  line_shown_ = true;
}

void Report::add(const Measurement& m) {
  if (std::exchange(line_shown_, false)) fprintf(stderr, "\r\033[K");
  Bandwidth bw = bandwidth(options_.coll, m.bytes, m.mean_s, options_.nranks);
  std::optional<double> reducer_cores;
  if (m.reducers_cpu_s) reducer_cores = *m.reducers_cpu_s / m.elapsed_s;
  printf("%12llu %12llu %10.1f %10.1f %10.1f %8.3f %8.3f %7s %7.2f +%6.2f %9s %7s %7s\n",
         static_cast<unsigned long long>(m.bytes), static_cast<unsigned long long>(m.count), m.mean_s * 1e6,
         m.median_s * 1e6, m.min_s * 1e6, bw.algorithm, bw.bus,
         m.wrong ? std::to_string(*m.wrong).c_str() : "N/A",
         (m.workers_cpu_s - m.progress_cpu_s) / m.elapsed_s, m.progress_cpu_s / m.elapsed_s,
         number(reducer_cores, "%.2f").c_str(), number(m.worker_calls_per_mb, "%.1f").c_str(),
         number(m.reducer_calls_per_mb, "%.1f").c_str());
  fflush(stdout);
  results_.push_back(m);
}

uint64_t Report::wrong() const {
  uint64_t n = 0;
  for (const Measurement& m : results_) n += m.wrong.value_or(0);
  return n;
}

std::string Report::json() const {
  Json j;
  j.open('{').key("program").value("fanin-perf").key("schema").value(1);
  j.key("coll").value(coll_option(options_.coll)).key("algo").value(options_.ring ? "ring" : "fanin");
  j.key("type").value(dtype_name(options_.type)).key("op").value(redop_name(options_.op));
  j.key("ranks").value(options_.nranks).key("channels").value(options_.channels);
  j.key("in_place").value(options_.in_place).key("iterations").value(options_.iters);
  j.key("warmup").value(options_.warmup).key("connect_s").value(facts_.connect_s);
  j.key("pool");
  if (options_.ring)
    j.null();
  else
    j.open('{')
        .key("reducers")
        .value(facts_.pool)
        .key("started_here")
        .value(facts_.local_reducers)
        .close('}');
  j.key("syscalls_counted");
  if (syscalls_countable())
    j.value(kSyscallsCounted);
  else
    j.null();
  j.key("results").open('[');
  for (const Measurement& m : results_) {
    Bandwidth bw = bandwidth(options_.coll, m.bytes, m.mean_s, options_.nranks);
    j.open('{').key("bytes").value(m.bytes).key("count").value(m.count);
    j.key("time_us").open('{').key("mean").value(m.mean_s * 1e6).key("median").value(m.median_s * 1e6);
    j.key("p99").value(m.p99_s * 1e6).key("min").value(m.min_s * 1e6).close('}');
    j.key("algbw_GBps").value(bw.algorithm).key("busbw_GBps").value(bw.bus).key("wrong");
    if (m.wrong)
      j.value(*m.wrong);
    else
      j.null();
    j.key("cpu_s").open('{').key("elapsed").value(m.elapsed_s).key("workers").value(m.workers_cpu_s);
    j.key("progress_threads").value(m.progress_cpu_s);
    optional_value(j, "reducers", m.reducers_cpu_s);
    j.close('}').key("syscalls_per_MB").open('{');
    optional_value(j, "workers", m.worker_calls_per_mb);
    optional_value(j, "reducers", m.reducer_calls_per_mb);
    j.close('}').close('}');
  }
  j.close(']').close('}');
  return j.text() + "\n";
}

Status Report::finish() {
  if (options_.check)
    printf("# wrong elements: %llu%s\n", static_cast<unsigned long long>(wrong()), wrong() ? "" : " OK");
  fflush(stdout);
  if (options_.json.empty()) return {};
  // A reader never sees half a file.
  std::string text = json(), part = options_.json + ".part";
  FILE* f = fopen(part.c_str(), "w");
  if (!f) return system_error("cannot write " + part, errno, Errc::kInvalidUsage);
  bool written = fwrite(text.data(), 1, text.size(), f) == text.size();
  if (fclose(f) != 0 || !written || rename(part.c_str(), options_.json.c_str()) != 0)
    return system_error("cannot write " + options_.json, errno, Errc::kInvalidUsage);
  return {};
}

}  // namespace fanin::perf
