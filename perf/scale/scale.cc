#include "perf/scale/scale.h"

#include <time.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "perf/common/clock.h"
#include "perf/common/plugin_log.h"
#include "perf/fanin_perf/memory.h"
#include "perf/scale/worker.h"

namespace fanin::perf {
namespace {

void pause_us(long us) {
  timespec t{0, us * 1000};
  nanosleep(&t, nullptr);
}

// "VmRSS" or "VmHWM" of a process, in bytes; 0 without a process.
size_t memory_of(int pid, const char* which) {
  if (pid <= 0) return 0;
  FILE* f = fopen(("/proc/" + std::to_string(pid) + "/status").c_str(), "r");
  if (!f) return 0;
  char line[256];
  size_t kib = 0;
  while (fgets(line, sizeof line, f))
    if (strncmp(line, which, strlen(which)) == 0) sscanf(line + strlen(which) + 1, "%zu", &kib);
  fclose(f);
  return kib << 10;
}

// The first error of many threads.
class FirstError {
 public:
  void note(const Status& s) {
    if (s) return;
    std::lock_guard lock(mutex_);
    if (status_) status_ = s;
    failed_ = true;
  }
  bool failed() const { return failed_; }
  Status get() const { return status_; }

 private:
  std::mutex mutex_;
  Status status_;
  std::atomic<bool> failed_{false};
};

// body(i) for each i below n, a thread each.
void in_threads(size_t n, const std::function<void(size_t)>& body) {
  std::vector<std::thread> threads;
  for (size_t i = 0; i < n; i++) threads.emplace_back([&body, i] { body(i); });
  for (std::thread& t : threads) t.join();
}

}  // namespace

Result<ScaleResult> run_scale(const ScaleOptions& o) {
  set_plugin_log(NCCL_LOG_WARN, "");
  Result<Plugin> plugin = Plugin::open(o.plugin);
  if (!plugin) return plugin.error();
  ScaleResult r;
  r.rss_before = memory_of(o.reducer_pid, "VmRSS");
  const size_t total = o.workers * o.rails;
  auto memory = Memory::make(o.bytes * (total * ScaleRank::kInFlight + o.workers));
  if (!memory) return memory.error();
  auto send_of = [&](size_t worker) {
    return reinterpret_cast<float*>(memory->span().data() + o.bytes * worker);
  };
  auto recv_of = [&](size_t i) {
    return reinterpret_cast<float*>(memory->span().data() + o.bytes * (o.workers + i * ScaleRank::kInFlight));
  };
  const size_t count = o.bytes / sizeof(float);
  for (size_t w = 0; w < o.workers; w++)
    for (size_t i = 0; i < count; i++) send_of(w)[i] = static_cast<float>(w + i % 7);
  for (size_t i = 0; i < total; i++) memset(recv_of(i), 0xee, o.bytes);

  // Communicator i is worker i / rails on rail i % rails.
  std::vector<ScaleRank> ranks;
  for (size_t i = 0; i < total; i++) ranks.emplace_back(plugin->collnet(), i / o.rails);
  std::vector<std::vector<char>> handles(total, std::vector<char>(NCCL_NET_HANDLE_MAXSIZE));
  std::vector<std::vector<void*>> of_rail(o.rails);
  FirstError error;
  const double began = seconds();
  for (size_t i = 0; i < total; i++) {
    error.note(ranks[i].listen(handles[i].data()));
    of_rail[i % o.rails].push_back(handles[i].data());
  }
  if (error.failed()) return error.get().error();
  in_threads(total, [&](size_t i) { error.note(ranks[i].connect(of_rail[i % o.rails])); });
  r.connect_s = seconds() - began;
  if (error.failed()) return error.get().error();
  for (size_t i = 0; i < total; i++) error.note(ranks[i].attach(send_of(i / o.rails), recv_of(i), o.bytes));
  if (error.failed()) return error.get().error();
  r.rss_connected = memory_of(o.reducer_pid, "VmRSS");

  std::atomic<size_t> full{0}, warm{0};  // workers whose windows are full; that are through the warm-up
  std::atomic<double> started{0};
  in_threads(o.workers, [&](size_t w) {
    auto run = [&](int messages, bool late) {
      for (size_t k = 0; k < o.rails; k++) ranks[w * o.rails + k].start(static_cast<size_t>(messages));
      if (late && w == 0) {
        while (full < o.workers - 1 && !error.failed()) pause_us(1000);
        // All of it is posted; the reducer has yet to read it.
        for (auto had = r.rss_connected; !error.failed();) {
          pause_us(100'000);
          if (std::exchange(had, memory_of(o.reducer_pid, "VmRSS")) == had) break;
        }
      }
      bool counted = false;
      for (bool finished = false; !finished && !error.failed();) {
        bool moved = false, blocked = true;
        finished = true;
        for (size_t k = 0; k < o.rails; k++) {
          ScaleRank& rank = ranks[w * o.rails + k];
          error.note(rank.progress(&moved));
          finished = finished && rank.finished();
          blocked = blocked && rank.blocked();
        }
        if (blocked && !std::exchange(counted, counted || blocked)) full++;
        if (!moved) pause_us(50);
      }
    };
    run(o.warmup, o.late);
    if (++warm == o.workers) started = seconds();
    while (warm < o.workers && !error.failed()) pause_us(100);
    run(o.iters, false);
  });
  if (error.failed()) return error.get().error();
  r.elapsed_s = seconds() - started;
  r.rss_peak = memory_of(o.reducer_pid, "VmHWM");
  for (size_t i = 0; i < total; i++)
    for (size_t at = 0; at < count; at++) {
      const size_t n = o.workers;
      r.wrong += recv_of(i)[at] != static_cast<float>(n * (n - 1) / 2 + n * (at % 7));
    }
  // Closing one by one would say goodbye to the reducer 512 times in a row.
  in_threads(total, [&](size_t i) { ScaleRank gone(std::move(ranks[i])); });
  return r;
}

}  // namespace fanin::perf
