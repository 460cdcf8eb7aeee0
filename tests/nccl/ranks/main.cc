// nccl-ranks: forks ranks, runs what the options say over the real NCCL, and reports. Exit status: 0 all
// right, 1 wrong results or a failed rank, 2 usage.
#include <cuda_runtime_api.h>
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <numeric>
#include <thread>

#include "tests/nccl/ranks/check.h"
#include "tests/nccl/ranks/endure.h"
#include "tests/nccl/ranks/loss.h"

namespace ranks {
namespace {

// Returns false when the rank did not see what it should have.
bool run_rank(const Options& o, Shared& shared, int index) {
  Rank rank{o, shared, index};
  RANK_CUDA(rank, cudaSetDevice(index % o.per_node));
  const auto values = make_values(o.types[0], o.ops[0], o.round_once);
  std::vector<int> all(static_cast<size_t>(o.ranks));
  std::iota(all.begin(), all.end(), 0);
  const double start = now();
  if (o.extra == "endure") say_pid(rank);
  ncclComm_t comm = rank.join(0);
  if (index == 0)
    rank.say("%d ranks on %d nodes ready in %.2f s", o.ranks, (o.ranks + o.per_node - 1) / o.per_node,
             now() - start);
  if (o.extra == "abort") {
    abort_in_flight(rank, comm, *values);
    return true;  // the communicator is gone
  }
  if (o.extra == "endure") return endure(rank, comm, *values);
  if (o.extra.starts_with("lose")) return lose_in_flight(rank, comm, *values);
  if (o.extra == "join") {
    // Only what came before is wanted.
  } else if (o.extra == "split") {
    std::vector<int> half;
    for (int i = index % 2; i < o.ranks; i += 2) half.push_back(i);
    ncclComm_t sub;
    RANK_NCCL(rank, ncclCommSplit(comm, index % 2, index, &sub, nullptr));
    check_all(rank, sub, half);
    RANK_NCCL(rank, ncclCommDestroy(sub));
  } else if (o.extra == "multi") {
    ncclComm_t second = rank.join(1);
    check_all(rank, comm, all);
    check_all(rank, second, all);
    RANK_NCCL(rank, ncclCommDestroy(second));
  } else if (o.extra == "group") {
    check_group(rank, comm, all, *values);
  } else {
    check_all(rank, comm, all);
  }
  RANK_NCCL(rank, ncclCommFinalize(comm));
  RANK_NCCL(rank, ncclCommDestroy(comm));
  return true;
}

// One process: a rank, or with threads all ranks of a node. Forked before anything of NCCL ran.
[[noreturn]] void run_process(const Options& o, Shared& shared, int first) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setenv("NCCL_HOSTID", ("node" + std::to_string(first / o.per_node)).c_str(), 1);
  for (const RankVariable& v : o.variables)
    if (v.rank == first) setenv(v.name.c_str(), v.value.c_str(), 1);
  if (!o.threads) exit(run_rank(o, shared, first) ? 0 : 1);
  std::atomic<bool> good{true};
  std::vector<std::thread> threads;
  for (int r = first; r < std::min(first + o.per_node, o.ranks); r++)
    threads.emplace_back([&, r] {
      if (!run_rank(o, shared, r)) good = false;
    });
  for (auto& t : threads) t.join();
  exit(good ? 0 : 1);
}

// Waits for all; once one failed the others get a moment to notice, then they are killed. True when all did
// well.
bool await(std::map<pid_t, int> processes, const Options& o, Shared& shared) {
  constexpr double kGrace = 5;
  bool good = true;
  double give_up_at = 0;
  while (!processes.empty()) {
    int status;
    const pid_t pid = waitpid(-1, &status, give_up_at > 0 ? WNOHANG : 0);
    if (pid > 0) {
      const int rank = processes[pid];
      processes.erase(pid);
      const bool meant = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
                         ((o.extra == "lose-rank" && rank == o.ranks - 1) || o.extra == "endure");
      if (status == 0 || meant) continue;
      fprintf(stderr, "rank %d ended with %s %d\n", rank, WIFSIGNALED(status) ? "signal" : "status",
              WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
      good = false;
      shared.failed = true;
      if (give_up_at == 0) give_up_at = now() + kGrace;
      continue;
    }
    if (now() > give_up_at)
      for (const auto& [left, rank] : processes) kill(left, SIGKILL);
    usleep(10000);
  }
  return good;
}

// A /dev/shm of this run's own, where it may have one: other jobs' segments are not counted, and what a killed run leaves
// goes with it.
void own_shared_memory() {
  if (unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0)
    mount("shm", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, nullptr);
}

// NCCL's segments in /dev/shm: a run that ends must have removed its own.
int count_segments() {
  DIR* dir = opendir("/dev/shm");
  if (!dir) return 0;
  int n = 0;
  while (const dirent* e = readdir(dir)) n += strncmp(e->d_name, "nccl-", 5) == 0;
  closedir(dir);
  return n;
}

Shared* g_shared = nullptr;
void on_stop(int) { g_shared->stop = true; }

}  // namespace
}  // namespace ranks

// LeakSanitizer asks for this: NCCL keeps some of its own structures when a communicator ends.
extern "C" __attribute__((visibility("default"), used)) const char* __lsan_default_suppressions();
const char* __lsan_default_suppressions() { return "leak:ncclCallocDebug\n"; }

int main(int argc, char** argv) {
  using namespace ranks;
  const Options o = parse_options(argc, argv);
  if (o.ranks > kMaxRanks) {
    fprintf(stderr, "nccl-ranks: at most %d ranks\n", kMaxRanks);
    return 2;
  }
  void* map = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) {
    perror("mmap");
    return 1;
  }
  Shared& shared = *new (map) Shared{};
  std::fill(std::begin(shared.hash), std::end(shared.hash), kHashSeed);
  own_shared_memory();
  const int segments = count_segments();
  g_shared = &shared;
  struct sigaction stop {};
  stop.sa_handler = on_stop;
  stop.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &stop, nullptr);
  fflush(nullptr);
  std::map<pid_t, int> processes;
  for (int r = 0; r < o.ranks; r += o.threads ? o.per_node : 1) {
    const pid_t pid = fork();
    if (pid == 0) run_process(o, shared, r);
    if (pid < 0) {
      perror("fork");
      return 1;
    }
    processes[pid] = r;
  }
  const bool good = await(processes, o, shared);
  uint64_t hash = kHashSeed;
  for (int r = 0; r < o.ranks; r++) hash = hash_bytes(hash, &shared.hash[r], sizeof(uint64_t));
  printf("results %016llx, %d wrong, %d segments left\n", static_cast<unsigned long long>(hash),
         shared.wrong.load(), count_segments() - segments);
  return good && shared.wrong == 0 ? 0 : 1;
}
