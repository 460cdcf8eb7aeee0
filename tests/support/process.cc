#include "tests/support/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "transport/deadline.h"
#include "transport/tcp/socket.h"

namespace fanin::test {
namespace {

constexpr milliseconds kStartPatience{20000};

[[noreturn]] void give_up(const std::string& why) {
  fprintf(stderr, "test set-up failed: %s\n", why.c_str());
  abort();
}

std::string text_of(int fd) {
  std::string text;
  char buf[4096];
  ssize_t n;
  while ((n = pread(fd, buf, sizeof buf, static_cast<off_t>(text.size()))) > 0)
    text.append(buf, static_cast<size_t>(n));
  return text;
}

// waitpid with a bound; polls, since a pid cannot be waited for with a time-out otherwise.
std::optional<int> wait_pid(pid_t pid, milliseconds patience) {
  Deadline deadline = Deadline::after(patience);
  for (;;) {
    int status = 0;
    pid_t got = waitpid(pid, &status, WNOHANG);
    if (got == pid) return status;
    if (got < 0 && errno != EINTR) return 0;
    if (deadline.passed()) return std::nullopt;
    std::this_thread::sleep_for(milliseconds(2));
  }
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return "killed by signal " + std::to_string(WTERMSIG(status));
  return WEXITSTATUS(status) == 0 ? "" : "exit status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

ReducerProcess::ReducerProcess(unsigned lanes, const std::vector<std::string>& more) {
  std::string folder = "/tmp/fanin-test-XXXXXX";
  if (!mkdtemp(folder.data())) give_up("mkdtemp");
  std::string port_file = folder + "/port";
  std::vector<std::string> words = {built("bin/fanin-reducer"), "--lanes", std::to_string(lanes),
                                    "--port-file", port_file};
  if (std::find(more.begin(), more.end(), "--listen") == more.end())
    words.insert(words.end(), {"--listen", "127.0.0.1:0"});
  words.insert(words.end(), more.begin(), more.end());
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  stderr_.reset(memfd_create("reducer stderr", MFD_CLOEXEC));
  fflush(nullptr);
  pid_ = fork();
  if (pid_ < 0) give_up("fork");
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(stderr_.get(), 2);
    ::signal(SIGPIPE, SIG_DFL);
    execv(argv[0], argv.data());
    fprintf(stderr, "cannot run %s: %s\n", argv[0], strerror(errno));
    _exit(127);
  }
  Deadline deadline = Deadline::after(kStartPatience);
  while (port_ == 0) {
    if (FILE* f = fopen(port_file.c_str(), "r")) {
      unsigned port = 0;
      if (fscanf(f, "%u\n", &port) == 1 && port < 65536) port_ = static_cast<uint16_t>(port);
      fclose(f);
    }
    if (port_ == 0 && (wait(milliseconds(2)) || deadline.passed()))
      give_up("fanin-reducer did not start: " + said());
  }
  unlink(port_file.c_str());
  rmdir(folder.c_str());
}

ReducerProcess::ReducerProcess(ReducerProcess&& o) noexcept
    : pid_(std::exchange(o.pid_, -1)), port_(o.port_), status_(o.status_), stderr_(std::move(o.stderr_)) {}

ReducerProcess::~ReducerProcess() {
  if (pid_ < 0 || status_) return;
  kill(pid_, SIGKILL);
  (void)wait(milliseconds(10000));
}

std::string ReducerProcess::address() const { return "127.0.0.1:" + std::to_string(port_); }

void ReducerProcess::signal(int number) const {
  if (!status_) kill(pid_, number);
}

std::optional<int> ReducerProcess::wait(milliseconds patience) {
  if (!status_) status_ = wait_pid(pid_, patience);
  return status_;
}

std::string ReducerProcess::said() const { return text_of(stderr_.get()); }

std::string pool_of(const std::vector<ReducerProcess>& reducers) {
  std::string list;
  for (const ReducerProcess& r : reducers) list += (list.empty() ? "" : ",") + r.address();
  return list;
}

void Rank::say(const std::string& line) const {
  std::string text = line + "\n";
  [[maybe_unused]] ssize_t n = ::write(report_, text.data(), text.size());
}

RankProcesses::RankProcesses(int nranks, Env env, Body body) {
  Result<Fd> listener = tcp::listen_on(tcp::Address::loopback(0));
  if (!listener) give_up(listener.error().text());
  Result<tcp::Address> root = tcp::local_address(listener->get());
  if (!root) give_up(root.error().text());
  fflush(nullptr);
  for (int r = 0; r < nranks; r++) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) give_up("pipe");
    Fd read_end(ends[0]), write_end(ends[1]);
    pid_t pid = fork();
    if (pid < 0) give_up("fork");
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (Process& p : ranks_) p.report.reset();
      read_end.reset();
      if (r != 0) listener->reset();
      for (auto& [name, value] : env) setenv(name.c_str(), value.c_str(), 1);
      Result<perf::Group> group = r == 0 ? perf::Group::host(*listener, nranks, kStartPatience)
                                         : perf::Group::join({*root}, r, nranks, kStartPatience);
      if (!group) _exit(100);
      Rank rank(
          r, nranks, [&]() -> perf::Group& { return *group; }, write_end.get());
      std::string failure = body(rank);
      if (!failure.empty()) rank.say("!" + failure);
      fflush(nullptr);
      _exit(0);
    }
    ranks_.push_back({pid, std::move(read_end), "", {}, false});
  }
}

RankProcesses::~RankProcesses() { (void)wait(milliseconds(0)); }

// Takes what the rank wrote; at end of file reaps it.
void RankProcesses::read(Process& p) {
  char buf[4096];
  ssize_t n = ::read(p.report.get(), buf, sizeof buf);
  if (n < 0) return;
  if (n == 0) {
    p.report.reset();
    std::optional<int> status = wait_pid(p.pid, milliseconds(5000));
    std::string how = status ? how_it_ended(*status) : "closed its report but did not end";
    if (!status) kill(p.pid, SIGKILL), (void)wait_pid(p.pid, milliseconds(5000));
    if (p.outcome.failure.empty()) p.outcome.failure = how;
    p.outcome.ended = std::chrono::steady_clock::now();
    p.ended = true;
    return;
  }
  p.text.append(buf, static_cast<size_t>(n));
  for (size_t end; (end = p.text.find('\n')) != std::string::npos; p.text.erase(0, end + 1)) {
    std::string line = p.text.substr(0, end);
    if (line.starts_with("!"))
      p.outcome.failure = line.substr(1);
    else
      p.outcome.lines.push_back(line);
  }
}

bool RankProcesses::wait_for(int rank, const std::string& line, milliseconds patience) {
  Process& p = ranks_[static_cast<size_t>(rank)];
  Deadline deadline = Deadline::after(patience);
  for (;;) {
    for (const std::string& said : p.outcome.lines)
      if (said == line) return true;
    if (p.ended || deadline.passed()) return false;
    pollfd fd{p.report.get(), POLLIN, 0};
    if (::poll(&fd, 1, deadline.poll_ms()) > 0) read(p);
  }
}

bool RankProcesses::wait_end(int rank, milliseconds patience) {
  Process& p = ranks_[static_cast<size_t>(rank)];
  for (Deadline deadline = Deadline::after(patience); !p.ended;) {
    pollfd fd{p.report.get(), POLLIN, 0};
    if (::poll(&fd, 1, deadline.poll_ms()) > 0)
      read(p);
    else if (deadline.passed())
      return false;
  }
  return true;
}

std::vector<Outcome> RankProcesses::wait(milliseconds patience) {
  Deadline deadline = Deadline::after(patience);
  for (;;) {
    std::vector<pollfd> fds;
    std::vector<Process*> waiting;
    for (Process& p : ranks_)
      if (!p.ended) fds.push_back({p.report.get(), POLLIN, 0}), waiting.push_back(&p);
    if (fds.empty()) break;
    int n = ::poll(fds.data(), fds.size(), deadline.poll_ms());
    for (size_t i = 0; n > 0 && i < fds.size(); i++)
      if (fds[i].revents != 0) read(*waiting[i]);
    if (!deadline.passed()) continue;
    for (Process* p : waiting)
      if (!p->ended) {
        p->outcome.failure = "still running";
        kill(p->pid, SIGKILL);
      }
    deadline = Deadline::never();
  }
  std::vector<Outcome> outcomes;
  for (Process& p : ranks_) outcomes.push_back(p.outcome);
  return outcomes;
}

std::string run_ranks(int nranks, RankProcesses::Env env, RankProcesses::Body body, milliseconds patience) {
  RankProcesses ranks(nranks, std::move(env), std::move(body));
  std::string all;
  std::vector<Outcome> outcomes = ranks.wait(patience);
  for (size_t r = 0; r < outcomes.size(); r++)
    if (!outcomes[r].failure.empty()) all += "rank " + std::to_string(r) + ": " + outcomes[r].failure + "\n";
  return all;
}

}  // namespace fanin::test
