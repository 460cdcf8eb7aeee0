#include "perf/fanin_perf/launch.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "perf/common/group.h"
#include "perf/fanin_perf/rank.h"
#include "transport/deadline.h"
#include "transport/tcp/socket.h"

namespace fanin::perf {
namespace {

int complain(const std::string& text) {
  fprintf(stderr, "fanin-perf: %s\n", text.c_str());
  return 1;
}

void set_environment(const Options& options, const std::string& pool) {
  if (!pool.empty()) setenv("FANIN_REDUCERS", pool.c_str(), 1);
  // What a job must set for NCCL to use collnet; the plugin warns without.
  setenv("NCCL_COLLNET_ENABLE", "1", options.ring ? 0 : 1);
}

int usable_cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

struct Child {
  pid_t pid;
  Fd report;         // what went wrong, written before it exits; end of file when it has
  std::string text;  // so far; the first letter tells a cause from a consequence
  int status = 0;
  bool ended = false;
};

[[noreturn]] void be_rank(const Options& options, int rank, const Fd& listener, const tcp::Address& root,
                          const LocalReducers& reducers, const Fd& report) {
  Result<Group> group = rank == 0 ? Group::host(listener, options.nranks, options.patience)
                                  : Group::join({root}, rank, options.nranks, options.patience);
  Status done = group ? run_rank(options, std::move(*group), reducers, options.nranks > usable_cores())
                      : Status(group.error());
  if (!done) {
    std::string text = (done.error().code() == Errc::kRemote ? "r" : "c") + done.error().text();
    [[maybe_unused]] ssize_t n = ::write(report.get(), text.data(), text.size());
  }
  fflush(stdout);
  _exit(done ? 0 : 1);
}

void read_report(Child& child) {
  char buf[4096];
  ssize_t n = ::read(child.report.get(), buf, sizeof buf);
  if (n > 0) {
    child.text.append(buf, static_cast<size_t>(n));
  } else if (n == 0) {
    child.report.reset();
    while (waitpid(child.pid, &child.status, 0) < 0 && errno == EINTR) {
    }
    child.ended = true;
  }
}

// Waits until all have ended; once one has failed, the others get a while to notice and are then killed.
void wait_all(std::vector<Child>& children) {
  constexpr std::chrono::seconds kGrace{5};
  Deadline deadline = Deadline::never();
  bool failed = false, killed = false;
  for (;;) {
    std::vector<pollfd> fds;
    std::vector<Child*> waiting;
    for (Child& c : children) {
      if (c.ended) continue;
      fds.push_back({c.report.get(), POLLIN, 0});
      waiting.push_back(&c);
    }
    if (fds.empty()) return;
    ::poll(fds.data(), fds.size(), deadline.poll_ms());
    for (size_t i = 0; i < fds.size(); i++)
      if (fds[i].revents != 0) read_report(*waiting[i]);
    for (Child& c : children)
      if (c.ended && c.status != 0 && !failed) failed = true, deadline = Deadline::after(kGrace);
    if (deadline.passed() && !killed) {
      killed = true;
      deadline = Deadline::never();
      for (Child& c : children)
        if (!c.ended) kill(c.pid, SIGKILL);
    }
  }
}

// One line per cause; "rank 0 is gone" and the like only when nobody knows better.
int explain(const std::vector<Child>& children) {
  std::vector<std::string> causes, consequences;
  for (size_t r = 0; r < children.size(); r++) {
    const Child& c = children[r];
    if (c.status == 0) continue;
    std::string who = "rank " + std::to_string(r) + ": ";
    if (WIFSIGNALED(c.status) && c.text.empty())
      causes.push_back(who + "ended by signal " + std::to_string(WTERMSIG(c.status)));
    else if (!c.text.empty())
      (c.text[0] == 'c' ? causes : consequences).push_back(who + c.text.substr(1));
  }
  if (causes.empty()) causes = consequences;
  std::string last;
  for (const std::string& line : causes) {
    std::string what = line.substr(line.find(": "));
    if (what == std::exchange(last, what)) continue;  // every rank found the same
    complain(line);
  }
  for (const Child& c : children)
    if (c.status != 0) return 1;
  return 0;
}

}  // namespace

int run_local(const Options& options) {
  LocalReducers reducers;
  if (options.local_reducers > 0) {
    auto started = LocalReducers::start(options.local_reducers, options.lanes);
    if (!started) return complain(started.error().text());
    reducers = std::move(*started);
  }
  // After the reducers, which must not hold it open.
  Result<Fd> listener = tcp::listen_on(tcp::Address::loopback(0));
  if (!listener) return complain(listener.error().text());
  Result<tcp::Address> root = tcp::local_address(listener->get());
  if (!root) return complain(root.error().text());
  set_environment(options, options.local_reducers > 0 ? reducers.list() : options.reducers);

  std::vector<Child> children;
  pid_t parent = getpid();
  fflush(nullptr);
  for (int rank = 0; rank < options.nranks; rank++) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return complain(system_error("pipe", errno).text());
    Fd read_end(ends[0]), write_end(ends[1]);
    pid_t pid = fork();
    if (pid < 0)
      return complain(system_error("fork", errno).text());  // the ranks started end with this process
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);
      for (Child& c : children) c.report.reset();
      read_end.reset();
      if (rank != 0) listener->reset();
      be_rank(options, rank, *listener, *root, reducers, write_end);
    }
    children.push_back({pid, std::move(read_end), "", 0, false});
  }
  listener->reset();
  wait_all(children);
  return explain(children);
}

int run_single(const Options& options) {
  auto addresses = tcp::resolve(options.rendezvous);
  if (!addresses) return complain(addresses.error().text());
  set_environment(options, options.reducers);
  Result<Group> group = Error(Errc::kInternal, "");
  if (*options.rank == 0) {
    Result<Fd> listener = tcp::listen_on(addresses->front());
    if (!listener) return complain(listener.error().text());
    group = Group::host(*listener, options.nranks, options.patience);
  } else {
    group = Group::join(*addresses, *options.rank, options.nranks, options.patience);
  }
  Status done =
      group ? run_rank(options, std::move(*group), LocalReducers(), options.crowded) : Status(group.error());
  return done ? 0 : complain("rank " + std::to_string(*options.rank) + ": " + done.error().text());
}

}  // namespace fanin::perf
