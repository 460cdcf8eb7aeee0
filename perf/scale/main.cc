// fanin-scale: see scale.h. FANIN_REDUCERS names the reducer, FANIN_WINDOW its window; prints one JSON object.
#include <signal.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "fanin/json.h"
#include "perf/scale/scale.h"

int main(int argc, char** argv) {
  using namespace fanin::perf;
  signal(SIGPIPE, SIG_IGN);
  ScaleOptions o;
  CLI::App app("Many workers in one process against the reducer in FANIN_REDUCERS.", "fanin-scale");
  app.add_option("--workers", o.workers, "Ranks of each session")->check(CLI::Range(2, 1024));
  app.add_option("--rails", o.rails, "Sessions")->check(CLI::Range(1, 64));
  app.add_option("--bytes", o.bytes, "Of a message")->check(CLI::Range(size_t{4}, size_t{1} << 30));
  app.add_option("--iters", o.iters, "Messages per communicator, timed")->check(CLI::Range(1, 100000));
  app.add_option("--warmup", o.warmup, "Messages before")->check(CLI::Range(1, 100000));
  app.add_flag("--late", o.late,
               "Rank 0 comes when all others have filled their windows (needs warmup above the window)");
  app.add_option("--reducer-pid", o.reducer_pid, "Read this process's memory");
  app.add_option("--plugin", o.plugin, "Path of the plugin")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  setenv("NCCL_COLLNET_ENABLE", "1", 1);
  auto r = run_scale(o);
  if (!r) {
    fprintf(stderr, "fanin-scale: %s\n", r.error().text().c_str());
    return 1;
  }
  const double moved = static_cast<double>(o.bytes * o.rails) * o.iters;
  fanin::Json j;
  j.open('{').key("program").value("fanin-scale").key("workers").value(o.workers).key("rails").value(o.rails);
  j.key("bytes").value(o.bytes).key("iterations").value(o.iters).key("connect_s").value(r->connect_s);
  j.key("elapsed_s").value(r->elapsed_s);
  // In at the reducer: every worker's bytes. Out is the same.
  j.key("reducer_in_GBps").value(moved * static_cast<double>(o.workers) / r->elapsed_s / 1e9);
  j.key("wrong").value(r->wrong).key("rss").open('{').key("before").value(r->rss_before);
  j.key("connected").value(r->rss_connected).key("peak").value(r->rss_peak).close('}').close('}');
  printf("%s\n", j.text().c_str());
  return r->wrong == 0 ? 0 : 1;
}
