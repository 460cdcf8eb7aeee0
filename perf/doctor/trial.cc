#include "perf/doctor/trial.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "perf/common/clock.h"
#include "perf/common/coll_comm.h"
#include "perf/common/group.h"
#include "perf/common/plugin_log.h"
#include "perf/fanin_perf/collnet_engine.h"
#include "transport/deadline.h"
#include "transport/fd.h"
#include "transport/tcp/socket.h"

namespace fanin::doctor {
namespace {

using namespace perf;
using std::chrono::milliseconds;

constexpr int kRanks = 2;
constexpr size_t kBytes = 32 << 10;  // the smallest message NCCL sends
constexpr int kMessages = 21;

// The plugin's warning without what is only true of the trial: who of its two ranks says it, and for how many.
std::string reason_of(std::string why) {
  for (std::string_view before : {"NET/fanin : ", "NCCL uses its own algorithms: "})
    if (size_t at = why.find(before); at != std::string::npos) why.erase(0, at + before.size());
  constexpr std::string_view kAll = " (all 2 ranks)";
  for (size_t at; (at = why.find(kAll)) != std::string::npos;) why.erase(at, kAll.size());
  return why;
}

// Rank 0's times are the answer.
Result<double> sum_messages(const Plugin& plugin, Group& group, milliseconds patience) {
  auto comm = CollComm::make(plugin, group);
  if (!comm) return comm.error();
  if (!comm->comm()) {
    // A warning names the reducer and the cause; the line of the verdict may only count them.
    std::string why = last_plugin_warning();
    if (why.empty()) why = last_plugin_line();
    return Error(Errc::kRemote, reason_of(std::move(why)));
  }
  std::vector<float> in(kBytes / sizeof(float), 1.0f + static_cast<float>(group.rank())), out(in.size());
  CollnetEngine engine(std::move(*comm), group.rank(), group.size(), 1, true, true);
  Status done =
      engine.attach({std::as_writable_bytes(std::span(in)), std::as_writable_bytes(std::span(out))});
  const Work work{Coll::kAllReduce,
                  DType::kF32,
                  RedOp::kSum,
                  kBytes,
                  reinterpret_cast<const std::byte*>(in.data()),
                  reinterpret_cast<std::byte*>(out.data())};
  std::vector<double> times;
  for (int i = 0; done && i < kMessages; i++) {
    const double started = seconds();
    done = engine.run(work, patience);
    times.push_back(seconds() - started);
  }
  if (done) done = group.barrier();
  Status closed = engine.close();
  if (done) done = closed;
  if (!done) return done.error();
  if (out[0] != 3.0f || out.back() != 3.0f)
    return Error(Errc::kInternal, "a sum is wrong: 1 + 2 = " + std::to_string(out[0]));
  std::nth_element(times.begin(), times.begin() + kMessages / 2, times.end());
  return times[kMessages / 2];
}

[[noreturn]] void be_rank(const std::string& path, int rank, const Fd& listener, const tcp::Address& root,
                          milliseconds patience, const Fd& report) {
  set_plugin_log(NCCL_LOG_NONE, "");
  Result<Plugin> plugin = Plugin::open(path);
  Result<Group> group =
      rank == 0 ? Group::host(listener, kRanks, patience) : Group::join({root}, rank, kRanks, patience);
  Result<double> time = !plugin  ? Result<double>(plugin.error())
                        : !group ? Result<double>(group.error())
                                 : sum_messages(*plugin, *group, patience);
  const std::string text = time ? "t" + std::to_string(*time) : "e" + time.error().text();
  [[maybe_unused]] ssize_t n = ::write(report.get(), text.data(), text.size());
  _exit(time ? 0 : 1);
}

std::string read_all(int fd, const Deadline& until) {
  std::string text;
  char buf[4096];
  for (;;) {
    pollfd p{fd, POLLIN, 0};
    int ready = ::poll(&p, 1, until.poll_ms());
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return text;
    ssize_t n = ::read(fd, buf, sizeof buf);
    if (n <= 0) return text;
    text.append(buf, static_cast<size_t>(n));
  }
}

}  // namespace

Result<TrialResult> try_pool(const std::string& plugin, const std::string& pool, milliseconds patience) {
  Result<Fd> listener = tcp::listen_on(tcp::Address::loopback(0));
  if (!listener) return listener.error();
  Result<tcp::Address> root = tcp::local_address(listener->get());
  if (!root) return root.error();
  int ends[kRanks][2];
  pid_t pids[kRanks];
  for (int rank = 0; rank < kRanks; rank++) {
    if (pipe2(ends[rank], O_CLOEXEC) != 0) return system_error("pipe", errno);
    pids[rank] = fork();
    if (pids[rank] < 0) return system_error("fork", errno);
    if (pids[rank] == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (int r = 0; r <= rank; r++) ::close(ends[r][0]);
      setenv("FANIN_REDUCERS", pool.c_str(), 1);
      setenv("FANIN_EXPECT_REDUCERS", "0", 1);
      setenv("FANIN_CONNECT_TIMEOUT_MS", std::to_string(patience.count()).c_str(), 1);
      setenv("FANIN_STRICT", "0", 1);
      setenv("NCCL_COLLNET_ENABLE", "1", 1);
      be_rank(plugin, rank, *listener, *root, patience, Fd(ends[rank][1]));
    }
    ::close(ends[rank][1]);
  }
  const Deadline until = Deadline::after(3 * patience);
  std::string said[kRanks];
  for (int rank = 0; rank < kRanks; rank++) {
    Fd end(ends[rank][0]);
    said[rank] = read_all(end.get(), until);
    kill(pids[rank], SIGKILL);  // it has ended, or will not
    while (waitpid(pids[rank], nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  for (const std::string& text : said)
    if (text.starts_with("e")) return Error(Errc::kRemote, text.substr(1));
  if (said[0].empty())
    return Error(Errc::kRemote, "no answer within " + std::to_string(3 * patience.count()) + " ms");
  return TrialResult{strtod(said[0].c_str() + 1, nullptr)};
}

}  // namespace fanin::doctor
