// Descriptors and memory run out in the point-to-point net, at every point from init to a message received: each call works or
// fails with a line that says why. Nothing crashes or hangs, no descriptor stays lost, and what was short being there again, all works.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "perf/common/plugin.h"
#include "tests/support/footprint.h"
#include "tests/support/process.h"
#include "transport/deadline.h"

namespace {

// Which allocations of this thread fail. Plain, so that malloc may look at it at any time.
struct Shortage {
  bool on;        // counting
  bool for_ever;  // the chosen one and all after it, not only that one
  long chosen;    // from 0
  long seen;
};
thread_local constinit Shortage g_shortage{};

}  // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__GLIBC__)
#define FANIN_OWN_MALLOC 1
extern "C" void* __libc_malloc(size_t);
// The C library calls this one, and so do all libraries, loaded ones too. The rest of the family stays the C library's.
extern "C" __attribute__((visibility("default"))) void* malloc(size_t bytes) noexcept {
  if (g_shortage.on) {
    const long n = g_shortage.seen++;
    if (n == g_shortage.chosen || (g_shortage.for_ever && n > g_shortage.chosen)) {
      errno = ENOMEM;
      return nullptr;
    }
  }
  return __libc_malloc(bytes);
}
#endif

namespace fanin::test {
namespace {

constexpr size_t kBytes = 300000;

// Takes no memory. What was warned of since the start of a life, cut off where it is full.
char g_log[4096];
void log(int level, unsigned long, const char*, int, const char* format, ...) {
  if (level > NCCL_LOG_WARN) return;
  const size_t at = strlen(g_log);
  va_list args;
  va_start(args, format);
  vsnprintf(g_log + at, sizeof g_log - at, format, args);
  va_end(args);
}

void limit_descriptors(rlim_t soft) {
  rlimit now{};
  getrlimit(RLIMIT_NOFILE, &now);
  now.rlim_cur = std::min(soft, now.rlim_max);
  setrlimit(RLIMIT_NOFILE, &now);
}

// A connection to itself, a message on it, and its end, with the calls in NCCL's order. Takes no memory of its own.
class Life {
 public:
  explicit Life(const ncclNet_v12_t& t) : t_(t) {}

  // Empty: works; else the call that failed.
  const char* run(const char* in, char* out) {
    rc_ = t_.init(&context_, 0, &config_, &log, nullptr);
    if (rc_ != ncclSuccess) return "init";
    int devices = 0;
    if (t_.devices(&devices) != ncclSuccess) return "devices";
    if (t_.listen(context_, 0, handle_, &listener_) != ncclSuccess) return "listen";
    while (!send_ || !recv_) {
      if (patience_.passed()) return "!connects for ever";
      if (const char* failed = connect()) return failed;
      if (!recv_ && t_.accept(listener_, &recv_, &device_) != ncclSuccess) return "accept";
    }
    void *to = out, *sent = nullptr, *received = nullptr, *mhandle = nullptr;
    size_t bytes = kBytes;
    int tag = 7, done = 0, size = 0;
    if (t_.regMr(recv_, out, kBytes, NCCL_PTR_HOST, &mhandle) != ncclSuccess) return "regMr";
    if (t_.irecv(recv_, 1, &to, &bytes, &tag, &mhandle, nullptr, &received) != ncclSuccess) return "irecv";
    while (sent || received || !done) {
      if (patience_.passed()) return "!sends for ever";
      if (!sent && !done &&
          t_.isend(send_, const_cast<char*>(in), kBytes, tag, mhandle, nullptr, &sent) != ncclSuccess)
        return "isend";
      for (void** request : {&sent, &received}) {
        if (!*request) continue;
        int now = 0;
        if (t_.test(*request, &now, &size) != ncclSuccess) return "test";
        if (now) *request = nullptr, done = 1;
      }
    }
    return memcmp(in, out, kBytes) == 0 ? "" : "!has a wrong message";
  }
  // With what was short there again.
  const char* end() {
    // A connect that is under way is known by its handle only.
    while (begun_ && !send_ && !patience_.passed())
      if (connect()) break;
    const bool closed = (!send_ || t_.closeSend(send_) == ncclSuccess) &&
                        (!recv_ || t_.closeRecv(recv_) == ncclSuccess) &&
                        (!listener_ || t_.closeListen(listener_) == ncclSuccess) &&
                        (rc_ != ncclSuccess || t_.finalize(context_) == ncclSuccess);
    return closed ? "" : "!cannot be closed";
  }

 private:
  const char* connect() {
    if (send_) return nullptr;
    begun_ = t_.connect(context_, 0, handle_, &send_, &device_) == ncclSuccess;
    return begun_ ? nullptr : "connect";
  }

  const ncclNet_v12_t& t_;
  ncclResult_t rc_ = ncclSuccess;
  ncclNetCommConfig_v12_t config_{-1};
  ncclNetDeviceHandle_v12_t* device_ = nullptr;
  const Deadline patience_ = Deadline::after(milliseconds(20000));
  bool begun_ = false;
  char handle_[NCCL_NET_HANDLE_MAXSIZE] = {};
  void *context_ = nullptr, *listener_ = nullptr, *send_ = nullptr, *recv_ = nullptr;
};

// One life of the library, short of something between set and lift. "works", "fails in …", or "!" and what must not be.
std::string live(const std::function<void()>& set, const std::function<void()>& lift) {
  static const std::vector<char> in(kBytes, 'x');
  std::vector<char> out(kBytes);
  auto plugin = perf::Plugin::open(built("lib/libnccl-net-fanin.so"));
  if (!plugin) return "!" + plugin.error().text();
  // A thread's first call is not to be short of memory (plugin/abi/edge.h).
  if (plugin->net().closeListen(nullptr) != ncclSuccess) return "!does not close nothing";
  Life life(plugin->net());
  g_log[0] = 0;
  set();
  const char* failed = life.run(in.data(), out.data());
  lift();
  const char* ended = life.end();
  if (*failed == '!') return failed;
  if (*ended == '!') return ended;
  if (!*failed) return "works";
  return g_log[0] ? std::string("fails in ") + failed + ": " + g_log
                  : std::string("!fails in ") + failed + " without a word";
}

const std::map<std::string, std::string> kPlain = {
    {"NCCL_SOCKET_IFNAME", "lo"}, {"FANIN_NET_SOCKETS", "4"}, {"FANIN_CONNECT_TIMEOUT_MS", "15000"}};
std::map<std::string, std::string> proved() {
  auto env = kPlain;
  env["FANIN_SECRET"] = "secret-of-the-job-0123456789abcdef";
  return env;
}

// step 0, 1, … until two in a row are enough. In one child: lives that end badly leave nothing behind.
void sweep(const RankProcesses::Env& env, const std::function<std::string(int)>& live_at, int steps,
           const std::string& remedy) {
  RankProcesses one(1, env, [&](Rank& rank) -> std::string {
    const auto none = [] {};
    if (const std::string end = live(none, none); end != "works") return end;
    const Footprint before = Footprint::of();
    int worked = 0, failed = 0;
    for (int step = 0; worked < 2; ++step) {
      const std::string at = "step " + std::to_string(step) + ": ";
      rank.say(at + "begins");
      if (step == steps) return "nothing was enough";
      const std::string end = live_at(step);
      if (end.starts_with("!")) return at + end;
      worked = end == "works" ? worked + 1 : 0;
      failed += end != "works";
      if (end != "works" && end.find(remedy) == std::string::npos)
        return at + "does not say " + remedy + ": " + end;
      if (const std::string after = live(none, none); after != "works") return at + "afterwards " + after;
      if (const Footprint now = Footprint::of(); !now.within(before))
        return at + end + "; holds " + now.text() + ", before " + before.text();
    }
    return failed > 0 ? "" : "nothing was too little";
  });
  const Outcome o = one.wait(milliseconds(50000))[0];
  EXPECT_EQ(o.failure, "") << "last said: " << (o.lines.empty() ? "nothing" : o.lines.back());
}

TEST(NetLimits, Descriptors) {
  for (const auto& env : {kPlain, proved()})
    sweep(
        env,
        [](int step) {
          const rlim_t some = Footprint::of().descriptors + static_cast<rlim_t>(step);
          return live([&] { limit_descriptors(some); }, [] { limit_descriptors(RLIM_INFINITY); });
        },
        60, "ulimit -n");
}

// One allocation fails, each in its turn, and then all from each on.
TEST(NetLimits, Memory) {
#ifndef FANIN_OWN_MALLOC
  GTEST_SKIP() << "the sanitizers have an allocator of their own";
#endif
  for (const auto& env : {kPlain, proved()})
    for (const bool for_ever : {false, true})
      sweep(
          env,
          [&](int step) -> std::string {
            const std::string end = live(
                [&] {
                  g_shortage = {true, for_ever, step, 0};
                },
                [] { g_shortage.on = false; });
            // One that it can do without is no sign of enough.
            return end == "works" && g_shortage.seen > step ? "works without one: out of memory" : end;
          },
          3000, "");
}

}  // namespace
}  // namespace fanin::test
