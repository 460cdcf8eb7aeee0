#include "perf/nccl_perf/nodes.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "perf/nccl_perf/run.h"
#include "transport/deadline.h"
#include "transport/tcp/socket.h"

namespace fanin::nccl_perf {
namespace {

// Time for the ranks that are left to notice, say what happened and give back what NCCL holds (shared
// memory).
constexpr std::chrono::seconds kNotice{2}, kGrace{15};

[[noreturn]] void be_child(Options options, Placement placement, Fd listener, const std::string& host_id,
                           const sigset_t& signals, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kExitFailed);  // it was gone before prctl
  sigprocmask(SIG_UNBLOCK, &signals, nullptr);
  setenv("NCCL_HOSTID", host_id.c_str(), 1);
  const int ranks = placement.processes * options.gpus;
  const bool polite = ranks > static_cast<int>(std::thread::hardware_concurrency());
  if (placement.process != 0) listener.reset();
  const int code = run_process(options, placement, std::move(listener), polite, true);
  fflush(stdout);
  exit(code);  // atexit handlers too: the device library and NCCL clean up there
}

// Waits for all children. On a signal, or a while after one of them failed, ends the others: first asks, then kills.
int reap(std::vector<pid_t> children, const sigset_t& signals) {
  int worst = kExitOk, interrupted = 0, asked = 0;
  Deadline deadline = Deadline::never();
  while (!children.empty()) {
    timespec soon{0, 200'000'000};
    const int signal = sigtimedwait(&signals, nullptr, &soon);
    if (signal == SIGINT || signal == SIGTERM) {
      interrupted = signal;
      deadline = Deadline::after(std::chrono::seconds(0));
    }
    if (deadline.passed()) {
      for (const pid_t pid : children) kill(pid, asked ? SIGKILL : SIGTERM);
      deadline = asked ? Deadline::never() : Deadline::after(kGrace);
      asked++;
    }
    std::erase_if(children, [&](pid_t pid) {
      int status;
      if (waitpid(pid, &status, WNOHANG) != pid) return false;
      const int code = WIFEXITED(status) ? WEXITSTATUS(status) : kExitFailed;
      if (WIFSIGNALED(status) && !asked)
        fprintf(stderr, "fanin-nccl-perf: process %d was ended by signal %d (%s)\n", pid, WTERMSIG(status),
                strsignal(WTERMSIG(status)));
      worst = std::max(worst, code);
      if (code != kExitOk && code != kExitWrong && !asked)
        deadline = deadline.sooner(Deadline::after(kNotice));
      return true;
    });
  }
  return interrupted ? 128 + interrupted : worst;
}

}  // namespace

int run_nodes(const Options& options) {
  Result<Fd> listener = tcp::listen_on(tcp::Address::loopback(0));
  Result<tcp::Address> at = listener ? tcp::local_address(listener->get()) : listener.error();
  if (!at) {
    fprintf(stderr, "fanin-nccl-perf: %s\n", at.error().text().c_str());
    return kExitFailed;
  }
  Options each = options;
  Placement placement;
  placement.launcher = "--nodes";
  placement.meet = {"127.0.0.1", at->port()};
  placement.processes = options.nodes;
  if (options.processes) {
    placement.processes *= options.gpus;
    each.gpus = 1;
  }
  sigset_t signals;
  sigemptyset(&signals);
  for (const int s : {SIGCHLD, SIGINT, SIGTERM}) sigaddset(&signals, s);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  fflush(stdout);
  const pid_t parent = getpid();
  std::vector<pid_t> children;
  for (int p = 0; p < placement.processes; p++) {
    placement.process = p;
    placement.local = options.processes ? p % options.gpus : 0;
    const int node = options.processes ? p / options.gpus : p;
    const pid_t pid = fork();
    if (pid == 0)
      be_child(each, placement, Fd(listener->release()), "fanin-node-" + std::to_string(node), signals,
               parent);
    if (pid < 0) {
      fprintf(stderr, "fanin-nccl-perf: %s\n", system_error("fork", errno).text().c_str());
      for (const pid_t c : children) kill(c, SIGKILL);
      reap(children, signals);
      return kExitFailed;
    }
    children.push_back(pid);
  }
  listener->reset();
  return reap(children, signals);
}

}  // namespace fanin::nccl_perf
