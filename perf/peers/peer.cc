#include "perf/peers/peer.h"

#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

#include "fanin/json.h"
#include "perf/common/clock.h"
#include "perf/common/iteration_times.h"
#include "transport/tcp/socket.h"

namespace fanin::perf {
namespace {

int from_environment(const char* name, int otherwise) {
  const char* text = getenv(name);
  return text ? atoi(text) : otherwise;
}

Result<Group> meet(const PeerOptions& o) {
  constexpr std::chrono::seconds kPatience{60};
  auto at = tcp::parse_host_port(o.rendezvous);
  if (!at) return at.error();
  auto addresses = tcp::resolve(*at);
  if (!addresses) return addresses.error();
  if (o.rank != 0) return Group::join(*addresses, o.rank, o.nranks, kPatience);
  Result<Fd> listener = tcp::listen_on(addresses->front());
  if (!listener) return listener.error();
  return Group::host(*listener, o.nranks, kPatience);
}

// Small whole numbers: their sums are exact in any order.
float input(int rank, size_t i) { return static_cast<float>(rank + 1) + static_cast<float>(i % 61); }

size_t count_wrong(const std::vector<float>& out, int nranks) {
  size_t wrong = 0;
  for (size_t i = 0; i < out.size(); i++) {
    float sum = 0;
    for (int r = 0; r < nranks; r++) sum += input(r, i);
    wrong += out[i] != sum;
  }
  return wrong;
}

struct Count {
  double elapsed, cpu;
  uint64_t wrong;
};

struct Times {
  std::vector<double> ends;  // of each iteration on this rank, since the start
  Count count{};
};

Result<Times> measure(const PeerOptions& o, Group& group, Peer& peer) {
  const size_t count = std::max<size_t>(o.bytes / sizeof(float), 1);
  std::vector<float> in(count), out(count, -1.0f);
  for (size_t i = 0; i < count; i++) in[i] = input(o.rank, i);
  for (int i = 0; i < o.warmup; i++)
    if (Status s = peer.all_reduce(in.data(), out.data(), count); !s) return s.error();
  if (Status s = group.barrier(); !s) return s.error();
  Times t;
  const double start = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
  for (int i = 0; i < o.iters; i++) {
    if (Status s = peer.all_reduce(in.data(), out.data(), count); !s) return s.error();
    t.ends.push_back(seconds(CLOCK_MONOTONIC) - start);
  }
  t.count.cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  t.count.elapsed = t.ends.back();
  if (o.check) t.count.wrong = count_wrong(out, o.nranks);
  return t;
}

Status write(const std::string& path, const std::string& text) {
  FILE* f = path.empty() ? stdout : fopen(path.c_str(), "w");
  if (!f) return system_error("cannot write " + path, errno);
  const bool written = fwrite(text.data(), 1, text.size(), f) == text.size();
  if (f == stdout ? fflush(f) != 0 : fclose(f) != 0) return system_error("cannot write " + path, errno);
  return written ? Status() : Status(Error(Errc::kSystem, "cannot write " + path));
}

Status run(const PeerOptions& o, const char* name, const MakePeer& make) {
  Result<Group> group = meet(o);
  if (!group) return group.error();
  auto peer = make(o, *group);
  if (!peer) return peer.error();
  Result<Times> mine = measure(o, *group, **peer);
  if (!mine) return mine.error();
  auto counts = group->all_gather_value(mine->count);
  if (!counts) return counts.error();
  auto gathered = iteration_times(*group, mine->ends);
  if (!gathered) return gathered.error();
  const std::vector<double>& times = *gathered;
  uint64_t wrong = 0;
  double cpu = 0, elapsed = 0;
  for (const Count& c : *counts) wrong += c.wrong, cpu += c.cpu, elapsed = std::max(elapsed, c.elapsed);
  if (o.rank == 0) {
    const double mean = elapsed / o.iters;
    Json j;
    j.open('{').key("program").value(name).key("ranks").value(o.nranks).key("iterations").value(o.iters);
    j.key("warmup").value(o.warmup).key("results").open('[').open('{');
    j.key("bytes").value(o.bytes).key("algbw_GBps").value(static_cast<double>(o.bytes) / mean / 1e9);
    j.key("time_us")
        .open('{')
        .key("mean")
        .value(mean * 1e6)
        .key("median")
        .value(times[times.size() / 2] * 1e6);
    j.key("min").value(times.front() * 1e6).close('}');
    j.key("cpu_s").open('{').key("elapsed").value(elapsed).key("workers").value(cpu).key("reducers").null();
    j.close('}').key("wrong");
    o.check ? j.value(wrong) : j.null();
    j.close('}').close(']').close('}');
    if (Status s = write(o.json, j.text() + "\n"); !s) return s;
  }
  if (wrong > 0) return Error(Errc::kInternal, std::to_string(wrong) + " elements are wrong");
  return group->barrier();  // nobody leaves while another rank still works
}

}  // namespace

int run_peer(int argc, char** argv, const char* name, const MakePeer& make) {
  signal(SIGPIPE, SIG_IGN);
  PeerOptions o;
  // mpirun says who one is.
  o.rank = from_environment("OMPI_COMM_WORLD_RANK", 0);
  o.nranks = from_environment("OMPI_COMM_WORLD_SIZE", 2);
  int check = 1;
  CLI::App app("One rank of an all-reduce benchmark; perf/suite starts all of them.", name);
  app.add_option("--rank", o.rank, "This rank")->check(CLI::Range(0, 4095));
  app.add_option("--nranks", o.nranks, "Ranks in all")->check(CLI::Range(2, 4096));
  app.add_option("--rendezvous", o.rendezvous, "HOST:PORT where rank 0 can be reached")->required();
  app.add_option("--host", o.host, "This rank's own address");
  app.add_option("--bytes", o.bytes, "Size of the buffer")->check(CLI::Range(size_t{4}, size_t{1} << 40));
  app.add_option("--iters", o.iters, "Timed iterations")->check(CLI::Range(1, 1000000));
  app.add_option("--warmup", o.warmup, "Untimed iterations before")->check(CLI::Range(0, 1000000));
  app.add_option("--check", check, "1: check every element of the last result")->check(CLI::Range(0, 1));
  app.add_option("--json", o.json, "Rank 0 writes the results here instead of stdout");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  o.check = check != 0;
  if (o.rank >= o.nranks) {
    fprintf(stderr, "%s: --rank must be below --nranks\n", name);
    return 2;
  }
  if (Status s = run(o, name, make); !s) {
    fprintf(stderr, "%s: rank %d: %s\n", name, o.rank, s.error().text().c_str());
    return 1;
  }
  return 0;
}

}  // namespace fanin::perf
