// fanin-bench-kernels: Google Benchmark of every kernel of reducer/kernels: each type and operator, sums of
// 2, 5, 16 and 64 inputs, in buffers that fit L2 together and in buffers beyond every cache.
//
// A case alternates the kernel and the memory loop on the same buffers; its counter `ratio` is the median time
// of the memory loop over that of the kernel, so a slow machine or a noisy neighbour hits both. Google
// Benchmark's own options apply (--benchmark_filter, --benchmark_out=FILE --benchmark_out_format=json); ours:
//   --summary      only the table of summary.h (else it follows on stderr)
//   --level=NAME   the kernels of one SIMD level instead of the best (the memory loop stays the best)
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "perf/kernels/arena.h"
#include "perf/kernels/memory_loop.h"
#include "perf/kernels/summary.h"
#include "reducer/kernels/reduce.h"

namespace fanin::perf {
namespace {

using Clock = std::chrono::steady_clock;

size_t cache_bytes(int name, size_t otherwise) {
  const long size = sysconf(name);
  return size > 0 ? static_cast<size_t>(size) : otherwise;
}
// Half of L2: the rest is for whatever else runs here.
size_t l2_total() { return cache_bytes(_SC_LEVEL2_CACHE_SIZE, size_t{1} << 20) / 2; }
// Beyond the last cache, but not all of a small machine's memory.
size_t dram_total() {
  const size_t l3 = cache_bytes(_SC_LEVEL3_CACHE_SIZE, size_t{32} << 20);
  const size_t memory =
      static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return std::min(std::max(l3 + l3 / 4, size_t{256} << 20), memory / 4);
}

double median(std::vector<double>& v) {
  if (v.empty()) return 0;
  const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  return *middle;
}

std::vector<KernelResult> results;

void run_case(benchmark::State& state, ReduceFn fn, KernelResult result) {
  const Arena arena(result.type, result.n, result.dram ? dram_total() : l2_total());
  const size_t count = arena.bytes() / dtype_size(result.type);
  std::vector<double> kernel, memory;
  const auto seconds = [](Clock::time_point a, Clock::time_point b) {
    return std::chrono::duration<double>(b - a).count();
  };
  memory_loop(arena.out(), arena.in(), result.n, arena.bytes());
  for (auto _ : state) {
    const auto start = Clock::now();
    fn(arena.out(), arena.in(), result.n, count);
    const auto between = Clock::now();
    memory_loop(arena.out(), arena.in(), result.n, arena.bytes());
    const auto end = Clock::now();
    kernel.push_back(seconds(start, between));
    memory.push_back(seconds(between, end));
    state.SetIterationTime(kernel.back());
  }
  const double k = median(kernel), m = median(memory),
               touched = static_cast<double>((result.n + 1) * arena.bytes());
  if (k <= 0) return;
  state.counters["ratio"] = m / k;
  state.counters["GB/s"] = touched / k / 1e9;
  state.counters["loop_GB/s"] = touched / m / 1e9;
  result.ratio = m / k;
  // The library runs a case again with more iterations until it lasted long enough: the last one counts.
  std::erase_if(results, [&](const KernelResult& r) {
    return r.type == result.type && r.op == result.op && r.n == result.n && r.dram == result.dram;
  });
  results.push_back(result);
}

void add_cases(const ReduceLevel& level) {
  for (bool dram : {false, true}) {
    for (int t = 0; t < kNumDTypes; t++) {
      for (int o = 0; o < kNumRedOps; o++) {
        for (size_t n : {2, 5, 16, 64}) {
          const auto type = static_cast<DType>(t);
          const auto op = static_cast<RedOp>(o);
          const std::string name = std::string(dram ? "dram/" : "l2/") + redop_name(op) + "/" +
                                   dtype_name(type) + "/n=" + std::to_string(n);
          auto* added = benchmark::RegisterBenchmark(name.c_str(), run_case, level.fn(type, op),
                                                     KernelResult{type, op, n, dram});
          added->UseManualTime()->Unit(dram ? benchmark::kMillisecond : benchmark::kMicrosecond);
          // So that all cases take about two minutes.
          if (dram) {
            added->Iterations(3);
          } else {
            added->MinTime(0.02);
          }
        }
      }
    }
  }
}

// Prints nothing; the table follows when all is measured.
class Silent : public benchmark::BenchmarkReporter {
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override {}
};

}  // namespace

int bench_kernels(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  bool summary = false;
  const std::vector<ReduceLevel> levels = reduce_levels();
  const ReduceLevel* level = &levels.front();
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--summary") == 0) {
      summary = true;
      continue;
    }
    std::string known;
    const bool is_level = strncmp(argv[i], "--level=", 8) == 0;
    bool found = false;
    for (const ReduceLevel& l : levels) {
      if (is_level && l.name == argv[i] + 8) level = &l, found = true;
      known += " " + l.name;
    }
    if (found) continue;
    fprintf(stderr,
            "fanin-bench-kernels: %s %s; options are --summary, --level= one of%s, and --benchmark_*\n",
            is_level ? "unknown level" : "unknown option", is_level ? argv[i] + 8 : argv[i], known.c_str());
    return 2;
  }
  benchmark::AddCustomContext("level", level->name);
  benchmark::AddCustomContext("l2_total_bytes", std::to_string(l2_total()));
  benchmark::AddCustomContext("dram_total_bytes", std::to_string(dram_total()));
  add_cases(*level);
  Silent silent;
  const size_t ran =
      summary ? benchmark::RunSpecifiedBenchmarks(&silent) : benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  if (ran == 0) return 1;
  // stdout may be JSON.
  fprintf(summary ? stdout : stderr, "%s%s kernels; all buffers of a case %zu KiB (L2) or %zu MiB (DRAM).\n",
          kernel_summary(results).c_str(), level->name.c_str(), l2_total() >> 10, dram_total() >> 20);
  return 0;
}

}  // namespace fanin::perf

int main(int argc, char** argv) { return fanin::perf::bench_kernels(argc, argv); }
