#include "perf/nccl_perf/run.h"

#include <signal.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

#include "perf/nccl_perf/bench.h"
#include "perf/nccl_perf/device.h"
#include "perf/nccl_perf/group.h"
#include "perf/nccl_perf/rendezvous.h"
#include "perf/nccl_perf/team.h"

namespace fanin::nccl_perf {
namespace {

constexpr std::chrono::minutes kGathering{5};
// After a failure: how long ranks that sit in a call of NCCL's may take to come out of it.
constexpr std::chrono::seconds kGrace{5};

// SIGINT and SIGTERM end the run in order: NCCL leaves shared memory behind in a process that just dies.
volatile sig_atomic_t g_signal = 0;
void handle_signals() {
  struct sigaction action {};
  action.sa_handler = [](int s) { g_signal = s; };
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);  // a second one does end it at once
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

// FNV-1a over what all processes must have been asked for.
uint64_t digest(const Options& o) {
  uint64_t h = 0xcbf29ce484222325u;
  auto add = [&h](uint64_t v) {
    for (int i = 0; i < 8; i++, v >>= 8) h = (h ^ (v & 0xff)) * 0x100000001b3u;
  };
  for (const uint64_t v :
       {static_cast<uint64_t>(o.coll), o.min_bytes, o.max_bytes, o.step_bytes, o.step_factor,
        static_cast<uint64_t>(o.iters), static_cast<uint64_t>(o.warmup), static_cast<uint64_t>(o.agg_iters),
        static_cast<uint64_t>(o.checks), static_cast<uint64_t>(o.gpus), static_cast<uint64_t>(o.blocking),
        static_cast<uint64_t>(o.average)})
    add(v);
  for (const DType t : o.types) add(static_cast<uint64_t>(t));
  for (const perf::CheckOp op : o.ops) add(static_cast<uint64_t>(op));
  return h;
}

Result<std::unique_ptr<Group>> meet(const Options& options, const Placement& placement, Fd listener) {
  const Membership self{static_cast<uint32_t>(placement.process), static_cast<uint32_t>(placement.processes),
                        digest(options)};
  std::vector<Peer> peers;
  if (placement.processes > 1 && placement.process == 0) {
    if (!listener) {
      Result<Fd> fd = listen_at(placement.meet);
      if (!fd) return fd.error();
      listener = *std::move(fd);
    }
    Result<std::vector<Peer>> all = await_peers(listener, self, Deadline::after(kGathering));
    if (!all) return all.error();
    peers = *std::move(all);
  } else if (placement.processes > 1) {
    Result<Peer> hub = join(placement.meet, self, Deadline::after(kGathering));
    if (!hub) return hub.error();
    peers.push_back(*std::move(hub));
  }
  return Group::make(placement.process, placement.processes, std::move(peers));
}

Result<int> first_device(const Options& options, const Placement& placement, bool share) {
  int devices = 0;
  if (Status s = cuda_status("cudaGetDeviceCount", cudaGetDeviceCount(&devices)); !s) return s.error();
  if (devices == 0) return Error(Errc::kInvalidUsage, "no CUDA device is visible");
  const int first = placement.local * options.gpus;
  if (share || first + options.gpus <= devices) return first;
  // A launcher that binds GPUs shows each process only its own. (If it did not, NCCL reports the duplicate.)
  if (devices == options.gpus) return 0;
  return Error(Errc::kInvalidUsage, std::to_string(first + options.gpus) +
                                        " GPUs are asked for on this host and " + std::to_string(devices) +
                                        " are visible; lower --gpus or the processes per host");
}

int exit_code(const Error& e) { return e.code() == Errc::kInvalidUsage ? kExitUsage : kExitFailed; }
int complain(const Error& e) {
  fprintf(stderr, "fanin-nccl-perf: %s\n", e.text().c_str());
  return exit_code(e);
}

}  // namespace

int run_process(const Options& options, const Placement& placement, Fd listener, bool polite,
                bool share_devices) {
  Result<int> first = first_device(options, placement, share_devices);
  if (!first) return complain(first.error());
  Result<std::unique_ptr<Group>> met = meet(options, placement, std::move(listener));
  if (!met) return complain(met.error());
  handle_signals();  // until here the default action is the right one
  Group& group = **met;
  Team team(group, options.gpus);
  int devices = 1;
  cudaGetDeviceCount(&devices);

  std::mutex mutex;
  std::condition_variable ended;
  int running = options.gpus;
  uint64_t wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < options.gpus; t++) {
    threads.emplace_back([&, t] {
      Result<uint64_t> r = bench(team, t, (*first + t) % devices, polite, options);
      if (!r) team.fail("rank " + std::to_string(team.rank_of(t)) + ": " + r.error().text());
      const std::lock_guard lock(mutex);
      if (r) wrong = *r;
      running--;
      ended.notify_all();
    });
  }
  bool stuck = false;
  {
    std::unique_lock lock(mutex);
    while (running > 0 && !group.failed()) {
      ended.wait_for(lock, std::chrono::milliseconds(50));
      if (g_signal) team.fail("interrupted by signal " + std::to_string(g_signal));
    }
    if (group.failed()) stuck = !ended.wait_for(lock, kGrace, [&] { return running == 0; });
  }
  if (group.failed() && group.reports()) fprintf(stderr, "fanin-nccl-perf: %s\n", group.failure().c_str());
  if (stuck) {
    // A rank that waits inside ncclCommInitRank for one that is gone cannot be called back.
    fflush(stdout);
    _exit(kExitFailed);
  }
  for (std::thread& t : threads) t.join();
  if (group.failed()) return kExitFailed;
  return wrong ? kExitWrong : kExitOk;
}

}  // namespace fanin::nccl_perf
