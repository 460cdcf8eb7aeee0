#include "perf/bare_tcp/stream.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <vector>

#include "fanin/json.h"
#include "perf/common/clock.h"
#include "perf/fanin_perf/memory.h"
#include "transport/fd.h"
#include "transport/tcp/socket.h"

namespace fanin::perf {
namespace {

// Shared by the processes. Times are of CLOCK_MONOTONIC, which they share.
struct Outcome {
  double cpu, began, ended;
  uint64_t calls;
  bool done;
};
struct Shared {
  std::atomic<int> ready;
  Outcome outcomes[512];
};

struct Connection {
  Fd source, sink;
};

Result<Connection> connect_pair() {
  Result<Fd> listener = tcp::listen_on(tcp::Address::loopback(0));
  if (!listener) return listener.error();
  auto at = tcp::local_address(listener->get());
  if (!at) return at.error();
  Connection c;
  Result<Fd> source = tcp::start_connect(*at);
  if (!source) return source.error();
  pollfd p{listener->get(), POLLIN, 0};
  ::poll(&p, 1, 5000);
  Result<Fd> sink = tcp::accept_from(listener->get());
  if (!sink) return sink.error();
  if (!*sink) return Error(Errc::kSystem, "no connection over loopback");
  for (int fd : {source->get(), sink->get()}) {
    if (Status s = tcp::tune(fd); !s) return s.error();
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  }
  c.source = std::move(*source), c.sink = std::move(*sink);
  return c;
}

void move_bytes(const StreamOptions& o, int fd, bool source, Shared& shared, Outcome& out) {
  auto memory = Memory::make(o.buffer);
  if (!memory) return;
  memset(memory->span().data(), 1, o.buffer);
  // All start at once.
  shared.ready++;
  while (shared.ready < 2 * o.pairs) {
    timespec t{0, 200'000};
    nanosleep(&t, nullptr);
  }
  out.began = seconds(CLOCK_MONOTONIC);
  const double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
  size_t at = 0;
  for (size_t moved = 0; moved < o.bytes;) {
    const size_t n = std::min({o.chunk, o.buffer - at, o.bytes - moved});
    std::byte* p = memory->span().data() + at;
    const ssize_t got = source ? ::send(fd, p, n, MSG_NOSIGNAL) : ::recv(fd, p, n, 0);
    out.calls++;
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    moved += static_cast<size_t>(got);
    at = (at + static_cast<size_t>(got)) % o.buffer;
  }
  out.cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  out.ended = seconds(CLOCK_MONOTONIC);
  out.done = true;
}

}  // namespace

Status run_stream(const StreamOptions& o) {
  if (o.chunk > o.buffer) return Error(Errc::kInvalidUsage, "--chunk is larger than --buffer");
  auto memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return system_error("mmap", errno);
  auto& shared = *static_cast<Shared*>(memory);  // zeroed
  std::vector<Connection> connections;
  for (int i = 0; i < o.pairs; i++) {
    auto c = connect_pair();
    if (!c) return c.error();
    connections.push_back(std::move(*c));
  }
  const pid_t parent = getpid();
  std::vector<pid_t> children;
  for (int i = 0; i < 2 * o.pairs; i++) {
    const pid_t pid = fork();
    if (pid < 0) return system_error("fork", errno);
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);
      const bool source = i % 2 == 0;
      Connection mine = std::move(connections[static_cast<size_t>(i / 2)]);
      connections.clear();
      (source ? mine.sink : mine.source).reset();
      Outcome& out = shared.outcomes[i];
      move_bytes(o, (source ? mine.source : mine.sink).get(), source, shared, out);
      _exit(out.done ? 0 : 1);
    }
    children.push_back(pid);
  }
  connections.clear();
  bool failed = false;
  for (pid_t pid : children) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    failed = failed || status != 0;
  }
  if (failed) return Error(Errc::kSystem, "a source or sink failed");
  double cpu[2] = {0, 0}, began = shared.outcomes[0].began, ended = 0;
  uint64_t calls[2] = {0, 0};
  for (int i = 0; i < 2 * o.pairs; i++) {
    const Outcome& out = shared.outcomes[i];
    cpu[i % 2] += out.cpu, calls[i % 2] += out.calls;
    began = std::min(began, out.began), ended = std::max(ended, out.ended);
  }
  const double bytes = static_cast<double>(o.bytes) * o.pairs;
  Json j;
  j.open('{').key("program").value("bare-tcp").key("pairs").value(o.pairs).key("bytes").value(o.bytes);
  j.key("buffer").value(o.buffer).key("chunk").value(o.chunk).key("elapsed_s").value(ended - began);
  j.key("cpu_s_per_GB").open('{').key("source").value(cpu[0] / bytes * 1e9);
  j.key("sink").value(cpu[1] / bytes * 1e9).close('}');
  j.key("syscalls_per_MB").open('{').key("source").value(static_cast<double>(calls[0]) / bytes * 1e6);
  j.key("sink").value(static_cast<double>(calls[1]) / bytes * 1e6).close('}').close('}');
  printf("%s\n", j.text().c_str());
  munmap(memory, sizeof(Shared));
  return {};
}

}  // namespace fanin::perf
