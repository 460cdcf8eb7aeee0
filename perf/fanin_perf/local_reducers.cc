#include "perf/fanin_perf/local_reducers.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <thread>
#include <utility>

#include "perf/fanin_perf/syscall_count.h"
#include "reducer/reducer.h"
#include "transport/deadline.h"
#include "transport/fd.h"

namespace fanin::perf {
namespace {

constexpr size_t kLine = 64 / sizeof(std::atomic<uint64_t>);

// The reducer process: says its port (or "!reason") and serves until SIGTERM.
[[noreturn]] void serve(int report, unsigned lanes) {
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  sigprocmask(SIG_BLOCK, &term, nullptr);
  ReducerConfig config;
  config.listen = tcp::Address::loopback(0);
  config.lanes = lanes;
  auto reducer = Reducer::start(config);
  std::string line = reducer ? (*reducer)->address().text() : "!" + reducer.error().text();
  if (::write(report, line.data(), line.size()) < 0 || !reducer) _exit(1);
  ::close(report);
  int signal;
  sigwait(&term, &signal);
  _exit(0);  // whoever stops a benchmark's reducers does not wait for sessions
}

}  // namespace

Result<LocalReducers> LocalReducers::start(int count, unsigned lanes) {
  LocalReducers r;
  r.owner_ = getpid();
  void* shared = mmap(nullptr, static_cast<size_t>(count) * 64, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return system_error("mmap", errno);
  r.syscalls_ = static_cast<std::atomic<uint64_t>*>(shared);  // zeroed memory is a zero counter
  fflush(nullptr);
  for (int i = 0; i < count; i++) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return system_error("pipe", errno);
    Fd read_end(ends[0]), write_end(ends[1]);
    pid_t pid = fork();
    if (pid < 0) return system_error("fork", errno);
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != r.owner_) _exit(1);
      count_syscalls_in(&r.syscalls_[static_cast<size_t>(i) * kLine]);
      serve(write_end.get(), lanes);
    }
    r.pids_.push_back(pid);
    write_end.reset();
    char text[512];
    ssize_t n = ::read(read_end.get(), text, sizeof text);
    if (n <= 0) return Error(Errc::kSystem, "a reducer process died while starting");
    std::string line(text, static_cast<size_t>(n));
    if (line[0] == '!') return Error(Errc::kSystem, line.substr(1)).in("starting a reducer");
    r.list_ += (i ? "," : "") + line;
  }
  return r;
}

LocalReducers& LocalReducers::operator=(LocalReducers&& o) noexcept {
  std::swap(owner_, o.owner_);
  std::swap(pids_, o.pids_);
  std::swap(list_, o.list_);
  std::swap(syscalls_, o.syscalls_);
  return *this;
}

LocalReducers::~LocalReducers() {
  if (owner_ != getpid()) return;
  for (pid_t pid : pids_) kill(pid, SIGTERM);
  Deadline deadline = Deadline::after(std::chrono::seconds(2));
  for (pid_t pid : pids_) {
    while (waitpid(pid, nullptr, WNOHANG) == 0) {
      if (deadline.passed()) kill(pid, SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
}

double LocalReducers::cpu_seconds() const {
  double sum = 0;
  for (pid_t pid : pids_) {
    clockid_t clock;
    timespec t{};
    if (clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, &t) == 0)
      sum += static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  }
  return sum;
}

std::optional<uint64_t> LocalReducers::syscalls() const {
  if (!syscalls_countable()) return std::nullopt;
  uint64_t sum = 0;
  for (size_t i = 0; i < pids_.size(); i++) sum += syscalls_[i * kLine].load(std::memory_order_relaxed);
  return sum;
}

}  // namespace fanin::perf
