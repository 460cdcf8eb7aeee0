// Silence: what the job's log says while a rank or a reducer is waited for, time-outs that name them, and hosts that
// vanish without a word (the last in a network namespace of this process, whose loopback goes down).
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>

#include <mutex>
#include <thread>

#include "plugin/collnet/stall_log.h"
#include "plugin/log.h"
#include "tests/support/collnet_calls.h"
#include "tests/support/collnet_world.h"
#include "tests/support/log_capture.h"
#include "tests/support/private_network.h"
#include "tests/support/reducer_fixture.h"
#include "tests/support/soon.h"
#include "transport/tcp/socket.h"

namespace fanin {
namespace {

namespace cn = plugin::collnet;
using cn::Comm;
using cn::Request;
using std::chrono::milliseconds;
using test::CollnetWorld;
using test::LogCapture;
using test::set_loopback;

bool g_namespace = false;
class Environment : public testing::Environment {
  void SetUp() override { g_namespace = test::enter_private_network().empty(); }
};
[[maybe_unused]] testing::Environment* const g_environment =
    testing::AddGlobalTestEnvironment(new Environment);

struct World : CollnetWorld {
  explicit World(milliseconds stall, milliseconds keepalive = milliseconds(30000)) : CollnetWorld(0) {
    ReducerConfig c;
    c.listen = tcp::Address::loopback(0);
    c.lanes = 2;
    c.block_bytes = 16 << 10;
    c.stall = stall;
    c.keepalive = keepalive;
    auto r = Reducer::start(c);
    if (!r) abort();
    reducers.push_back(std::move(*r));
  }
};

Request* post(Comm* comm, std::vector<float>& buf) {
  return test::accepted(
      [&] { return cn::iallreduce(comm, buf.data(), buf.data(), buf.size(), DType::kF32, RedOp::kSum); });
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

bool eventually(const std::function<bool()>& f) {
  for (Deadline d = Deadline::after(milliseconds(15000)); !d.passed(); usleep(2000))
    if (f()) return true;
  return false;
}

// No lock is held while the logger is called: one that waits, or comes back, stops nobody else.
cn::StallLog* g_stalls = nullptr;
int g_lines = 0;
void busy_logger(int, unsigned long, const char*, int, const char*, ...) {
  ++g_lines;
  std::thread([] { g_stalls->waiting(milliseconds(1), "lane 1", "rank 1"); }).join();
}
TEST(Silence, NoLockIsHeldWhileTheLoggerIsCalled) {
  cn::StallLog stalls("rank 0 of 2", milliseconds(100), milliseconds(1000));
  g_stalls = &stalls;
  plugin::set_logger(busy_logger);
  stalls.waiting(milliseconds(200), "lane 0", "rank 1");
  stalls.waiting(milliseconds(900), "lane 0", "rank 1");
  stalls.went_on(milliseconds(1000));
  plugin::set_logger(nullptr);
  EXPECT_EQ(g_lines, 3);
}

TEST(Silence, LogNamesTheLateRankAndSaysWhenItGoesOn) {
  LogCapture log;
  World world(milliseconds(100));
  plugin::Options o = world.options();
  o.stall = milliseconds(100);
  auto comms = world.connect_all(3, o);
  std::vector<std::vector<float>> buf(3, std::vector<float>(20000, 1));
  Request* requests[3] = {post(comms[0].get(), buf[0]), post(comms[1].get(), buf[1]), nullptr};
  const std::string reducer = "on reducer " + world.reducers[0]->address().text() + " lane ";
  for (const std::string who : {"rank 0 of 3", "rank 1 of 3"})
    ASSERT_TRUE(eventually([&] {
      return log.has(NCCL_LOG_INFO, who + " has been waiting ", " s for rank 2 (127.0.0.1:") &&
             log.count(NCCL_LOG_INFO, reducer) > 0 && log.count(NCCL_LOG_INFO, ", in message 0") > 0;
    })) << log.all();
  // From here on it may have to wait as well.
  EXPECT_EQ(log.count(NCCL_LOG_INFO, "rank 2 of 3 has been waiting"), 0u) << log.all();
  requests[2] = post(comms[2].get(), buf[2]);
  for (Request* r : requests) test::finish(r);
  ASSERT_TRUE(eventually([&] { return log.count(NCCL_LOG_INFO, "rank 0 of 3 goes on after waiting") == 1; }))
      << log.all();
  EXPECT_EQ(log.count(NCCL_LOG_WARN), 0u) << log.all();
  for (auto& b : buf)
    for (float x : b) ASSERT_EQ(x, 3);
}

TEST(Silence, AReducerThatSaysNothingIsNamed) {
  LogCapture log;
  World world(milliseconds(0));
  plugin::Options o = world.options();
  o.stall = milliseconds(100);
  auto comms = world.connect_all(2, o);
  std::vector<float> buf(10, 1);
  post(comms[0].get(), buf);
  EXPECT_TRUE(eventually([&] {
    return log.has(NCCL_LOG_INFO, " has been waiting ",
                   " s for reducer " + world.reducers[0]->address().text() + " lane ") &&
           log.count(NCCL_LOG_INFO, ", which says nothing") > 0;
  })) << log.all();
}

TEST(Silence, TimeoutNamesTheRankAfterOneWarning) {
  LogCapture log;
  World world(milliseconds(100));
  plugin::Options o = world.options();
  o.stall = milliseconds(100);
  o.timeout = milliseconds(4000);  // the warning comes at three quarters
  auto comms = world.connect_all(2, o);
  std::vector<float> buf(1000, 1);
  const std::string e = test::wait_for_error(post(comms[0].get(), buf), milliseconds(20000));
  EXPECT_TRUE(has(e, "waited for 4000 ms")) << e;
  EXPECT_TRUE(has(e, "for rank 1 (127.0.0.1:")) << e;
  EXPECT_TRUE(has(e, "on reducer " + world.reducers[0]->address().text())) << e;
  EXPECT_EQ(log.count(NCCL_LOG_WARN, "has been waiting 3 s for rank 1 (127.0.0.1:"), 1u) << log.all();
}

// Both directions of every connection are cut, and nobody says so.
class Vanished : public testing::Test {
  void SetUp() override {
    if (!g_namespace) GTEST_SKIP() << "this host lets no network namespace be made";
  }
  void TearDown() override {
    if (g_namespace) set_loopback(true);
  }
};

TEST_F(Vanished, HostWithDataOnItsWayIsGivenUp) {
  World world(milliseconds(0), milliseconds(3000));
  plugin::Options o = world.options();
  o.timeout = milliseconds(0);
  o.keepalive = milliseconds(1000);
  auto comms = world.connect_all(2, o);
  std::vector<float> buf(1000, 1);
  ASSERT_TRUE(set_loopback(false));
  const std::string e = test::wait_for_error(post(comms[0].get(), buf), milliseconds(20000));
  EXPECT_TRUE(has(e, "its host has answered nothing for")) << e;
  // The reducer has nothing on its way; keep-alive tells it.
  EXPECT_TRUE(eventually([&] { return world.reducers[0]->stats().connections_open == 0; }));
}

// Everything this process has sent on its connections has been acknowledged.
bool all_acknowledged() {
  for (int fd = 0; fd < 1024; ++fd) {
    tcp_info info{};
    socklen_t size = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 || info.tcpi_state != TCP_ESTABLISHED)
      continue;
    int queued = 0;
    if (info.tcpi_unacked > 0 || ioctl(fd, SIOCOUTQ, &queued) != 0 || queued > 0) return false;
  }
  return true;
}

// The worker only waits, with nothing on its way: no time-out, and keep-alive alone tells it.
TEST_F(Vanished, HostWithEverythingAcknowledgedIsGivenUp) {
  World world(milliseconds(0));  // the reducer's own keep-alive is far off
  plugin::Options o = world.options();
  o.timeout = milliseconds(0);
  o.keepalive = milliseconds(3000);
  auto comms = world.connect_all(2, o);
  std::vector<float> buf(1000, 1);
  Request* request = post(comms[0].get(), buf);
  ASSERT_TRUE(eventually([&] { return world.reducers[0]->stats().bytes_in == 4000 && all_acknowledged(); }));
  ASSERT_TRUE(set_loopback(false));
  // Before the keep-alive that a connection has otherwise.
  static_assert(test::kSoon < tcp::kKeepAlive);
  const std::string e = test::wait_for_error(request, test::kSoon);
  EXPECT_TRUE(has(e, "lost the connection to reducer " + world.reducers[0]->address().text())) << e;
}

// Ranks that read nothing, with results queued for them: their hosts answer the kernel's probes until they vanish, and then it
// would go on asking for a quarter of an hour.
TEST_F(Vanished, RanksWithResultsOnTheirWayAreGivenUp) {
  std::mutex mutex;
  std::string log;
  ReducerConfig c = test::reducer_config();
  c.timeout = milliseconds(0);
  c.keepalive = milliseconds(1000);
  c.log = [&](std::string_view line) {
    std::lock_guard lock(mutex);
    log.append(line).append("\n");
  };
  auto reducer = test::start_reducer(c);
  std::vector<std::unique_ptr<test::RawWorker>> deaf;
  const wire::SliceHeader message = test::RawWorker::all_reduce(0, 32 << 20);
  const test::Bytes payload(message.length);
  for (uint32_t r = 0; r < 2; ++r) {
    deaf.push_back(std::make_unique<test::RawWorker>(reducer->address()));
    deaf.back()->join(test::RawWorker::hello(test::RawWorker::session(1), r, 2, 0, 48 << 20));
  }
  for (auto& w : deaf) {
    w->send(message);
    w->send(payload);
  }
  ASSERT_TRUE(eventually([&] { return reducer->stats().messages == 1; }));
  ASSERT_EQ(reducer->stats().aborted, 0u);
  ASSERT_TRUE(set_loopback(false));
  EXPECT_TRUE(eventually([&] { return reducer->stats().aborted == 1; }));
  const ReducerStats stats = reducer->stats();
  EXPECT_EQ(stats.sessions_aborted[static_cast<size_t>(wire::AbortCode::kRankLost)], 1u);
  std::lock_guard lock(mutex);
  EXPECT_TRUE(has(log, " aborted on lane 0: rank ") &&
              has(log, ") is gone: its host has answered nothing for "))
      << log;
}

}  // namespace
}  // namespace fanin
