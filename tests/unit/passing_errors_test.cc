// Errors that pass: whatever connect() and accept() may say of one attempt or one connection, ranks and reducers come
// together within the deadline; and whole jobs that come at once do too.
//
// This program's connect and accept4 are its own: they fail as often as they are told, then do what libc's do.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "tests/support/collnet_calls.h"
#include "tests/support/collnet_world.h"
#include "tests/support/flipping_relay.h"
#include "tests/support/held_port.h"
#include "tests/support/log_capture.h"

namespace {

struct Failures {
  std::atomic<int> err{0}, left{0};
  bool take() {
    if (err == 0 || left.fetch_sub(1) <= 0) return false;
    errno = err;
    return true;
  }
  void set(int e, int times) {
    left = times;
    err = e;
  }
};
Failures connects, accepts;
// Connects leave from the port they go to, where nobody listens on it; how many did.
std::atomic<bool> to_itself{false};
std::atomic<int> met{0};

bool leave_from(int fd, const sockaddr* to, socklen_t bytes) {
  const int one = 1;
  return setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 && bind(fd, to, bytes) == 0;
}

}  // namespace

extern "C" int connect(int fd, const sockaddr* to, socklen_t bytes) {
  if (connects.take()) return -1;
  const bool meets = to_itself && leave_from(fd, to, bytes);
  const int done = static_cast<int>(syscall(SYS_connect, fd, to, bytes));
  if (meets && done != 0 && errno == EADDRNOTAVAIL)
    errno = ECONNREFUSED;  // another thread's meets itself just now
  if (meets) ++met;
  return done;
}
extern "C" int accept4(int fd, sockaddr* from, socklen_t* bytes, int flags) noexcept(false) {
  if (accepts.take()) return -1;
  return static_cast<int>(syscall(SYS_accept4, fd, from, bytes, flags));
}

namespace fanin {
namespace {

namespace cn = plugin::collnet;
using std::chrono::milliseconds;
using test::CollnetWorld;
using test::each_rank;
using test::HeldPort;
using test::LogCapture;
using Comms = std::vector<std::unique_ptr<cn::Comm>>;

void all_reduce(Comms& comms, size_t count) {
  const int n = static_cast<int>(comms.size());
  each_rank(n, [&](int rank) {
    std::vector<float> send, recv(count);
    for (size_t i = 0; i < count; ++i) send.push_back(test::input(rank, 1, i));
    cn::Comm* comm = comms[static_cast<size_t>(rank)].get();
    test::finish(test::accepted(
        [&] { return cn::iallreduce(comm, send.data(), recv.data(), count, DType::kF32, RedOp::kSum); }));
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(recv[i], test::expected_sum(n, 1, i)) << i;
  });
}

TEST(PassingErrors, OfConnectAreTriedAgainWithinTheDeadline) {
  LogCapture log;
  CollnetWorld world(2);
  for (int err :
       {ECONNABORTED, EHOSTUNREACH, ENETUNREACH, EHOSTDOWN, ETIMEDOUT, ECONNRESET, EADDRNOTAVAIL, EAGAIN}) {
    connects.set(err, 12);
    Comms comms = world.connect_all(3);
    EXPECT_LE(connects.left, 0) << strerror(err);
    all_reduce(comms, 1000);
  }
  connects.set(0, 0);
}

// The kernel may give a connect to a port where nobody listens that very port to leave from: it meets itself, over and
// over, and no reducer could ever listen there.
TEST(PassingErrors, AConnectThatMeetsItselfIsRefused) {
  LogCapture log;
  CollnetWorld world(0);
  plugin::Options o = world.options();
  const HeldPort port;
  o.pool = test::named(port.text());
  to_itself = true;
  for (auto& r : world.connect(3, [&](int) { return o; })) EXPECT_TRUE(r && *r == nullptr);
  to_itself = false;
  EXPECT_GE(met.exchange(0), 3);
  EXPECT_EQ(log.count(NCCL_LOG_WARN, port.text() + ": Connection refused (all 3 ranks)"), 3u) << log.all();
}

TEST(PassingErrors, AConnectThatMetItselfIsTriedAgainUntilTheReducerIsThere) {
  LogCapture log;
  CollnetWorld world(0);
  plugin::Options o = world.options();
  const HeldPort port;
  o.pool = test::named(port.text());
  to_itself = true;
  std::unique_ptr<Reducer> late;
  std::thread starter([&] {
    while (met < 3) std::this_thread::sleep_for(milliseconds(1));
    to_itself = false;
    ReducerConfig c;
    c.listen = port.address();
    c.lanes = 2;
    // What met itself is closed at once, and not yet perhaps.
    for (int i = 0; i < 500 && !late; ++i, std::this_thread::sleep_for(milliseconds(1)))
      if (auto r = Reducer::start(c)) late = std::move(*r);
  });
  Comms comms = world.connect_all(3, o);
  starter.join();
  met = 0;
  ASSERT_TRUE(late);
  for (auto& c : comms) ASSERT_TRUE(c);
  all_reduce(comms, 1000);
}

TEST(PassingErrors, OfAcceptConcernOneConnectionOnly) {
  LogCapture log;
  CollnetWorld world(2);
  for (int err : {ECONNABORTED, EINTR, EPROTO, EHOSTUNREACH, ENETDOWN, EPERM}) {
    accepts.set(err, 12);
    Comms comms = world.connect_all(3);
    EXPECT_LE(accepts.left, 0) << strerror(err);
    all_reduce(comms, 1000);
  }
  accepts.set(0, 0);
}

// Signals without SA_RESTART, as many as the rank's thread can take, from before it connects until it has closed.
TEST(PassingErrors, SignalsInterruptNothing) {
  LogCapture log;
  struct sigaction mine {
  }, old{};
  mine.sa_handler = [](int) {};
  sigaction(SIGUSR1, &mine, &old);
  CollnetWorld world(2);
  std::atomic<bool> stop{false};
  std::atomic<pid_t> ranks[3] = {};
  std::thread pest([&] {
    for (; !stop; std::this_thread::sleep_for(std::chrono::microseconds(100)))
      for (auto& tid : ranks)
        if (tid != 0) syscall(SYS_tgkill, getpid(), tid.load(), SIGUSR1);
  });
  Comms comms = [&] {
    Comms all;
    for (auto& c : world.connect(3, [&](int rank) {
           ranks[rank] = static_cast<pid_t>(syscall(SYS_gettid));  // called by the rank's thread
           return world.options();
         })) {
      EXPECT_TRUE(c) << c.error().text();
      all.push_back(c ? std::move(*c) : nullptr);
    }
    for (auto& tid : ranks) tid = 0;
    return all;
  }();
  stop = true;
  pest.join();
  sigaction(SIGUSR1, &old, nullptr);
  for (auto& c : comms) ASSERT_TRUE(c);
  all_reduce(comms, 1000);
}

// One host with 8 lanes and every rank of a large job in the same moment: 512 connections.
TEST(ConnectStorm, SixtyFourRanksTimesEightLanes) {
  LogCapture log;
  CollnetWorld world(1, 8);
  plugin::Options o = world.options();
  o.window = 1 << 20;
  Comms comms = world.connect_all(64, o);
  EXPECT_EQ(world.reducers[0]->stats().connections_open, 512u);
  for (auto& c : comms) ASSERT_TRUE(c);
  all_reduce(comms, 20000);
}

// The kernel queues two connections of sixteen and drops the SYNs of the others; then the queue is served again.
TEST(ConnectStorm, AFullAcceptQueueIsOutlasted) {
  LogCapture log;
  CollnetWorld world(1, 2);
  test::FlippingRelay relay(world.reducers[0]->address());
  relay.hold(true);
  plugin::Options o = world.options();
  o.pool = test::named(relay.address().text());
  std::thread later([&] {
    std::this_thread::sleep_for(milliseconds(700));  // the fault's length
    relay.hold(false);
  });
  Comms comms = world.connect_all(16, o);
  later.join();
  for (auto& c : comms) ASSERT_TRUE(c);
  all_reduce(comms, 5000);
}

}  // namespace
}  // namespace fanin
