// What every rank sees when something breaks, is refused or is closed early.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>

#include "tests/support/collnet_calls.h"
#include "tests/support/collnet_world.h"
#include "tests/support/descriptors.h"
#include "tests/support/footprint.h"
#include "tests/support/log_capture.h"
#include "tests/support/soon.h"

namespace fanin {
namespace {

namespace cn = plugin::collnet;
using cn::Comm;
using cn::Request;
using std::chrono::milliseconds;
using test::CollnetWorld;
using test::each_rank;
using test::kSoon;
using test::LogCapture;
using Clock = std::chrono::steady_clock;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

milliseconds since(Clock::time_point t) { return std::chrono::duration_cast<milliseconds>(Clock::now() - t); }

// All-reduces in place until it fails; the error. Then the buffer may be freed.
std::string run_until_error(Comm* comm, milliseconds limit, std::atomic<int>* rounds = nullptr) {
  std::vector<float> buf(50000, 1);
  const auto end = Clock::now() + limit;
  while (Clock::now() < end) {
    Result<Request*> r = cn::iallreduce(comm, buf.data(), buf.data(), buf.size(), DType::kF32, RedOp::kMax);
    if (!r) {
      EXPECT_EQ(r.error().code(), Errc::kRemote);
      return r.error().text();
    }
    if (!*r) continue;
    if (std::string e = test::wait_for_error(*r, limit); !e.empty()) return e;
    if (rounds) ++*rounds;
  }
  return "";
}

Request* post(Comm* comm, std::vector<float>& buf) {
  Result<Request*> r = cn::iallreduce(comm, buf.data(), buf.data(), buf.size(), DType::kF32, RedOp::kSum);
  EXPECT_TRUE(r) << r.error().text();
  return r ? *r : nullptr;
}

TEST(CollnetWindow, FullGivesNullAndLargeGoesAlone) {
  CollnetWorld world(1);
  plugin::Options o = world.options();
  o.window = 65536;
  auto comms = world.connect_all(2, o);
  std::vector<float> half(8192, 1), other(8192, 2), big(500000, 1), big2(500000, 2);
  Request* a = post(comms[0].get(), half);
  Request* b = post(comms[0].get(), other);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(post(comms[0].get(), half), nullptr);
  each_rank(2, [&](int rank) {
    if (rank == 0) {
      test::finish(a);
      test::finish(b);
    } else {
      std::vector<float> x(8192, 3), y(8192, 4);
      test::finish(post(comms[1].get(), x));
      test::finish(post(comms[1].get(), y));
    }
  });
  EXPECT_EQ(half[5], 4);
  EXPECT_EQ(other[5], 6);
  // 2 MB through a window of 64 KiB.
  each_rank(2, [&](int rank) {
    Request* r = post(comms[static_cast<size_t>(rank)].get(), rank == 0 ? big : big2);
    ASSERT_NE(r, nullptr);
    test::finish(r);
  });
  EXPECT_EQ(big[499999], 3);
  EXPECT_EQ(big2[0], 3);
}

TEST(CollnetWindow, RequestsRunOutWithNullAndComeBack) {
  CollnetWorld world(1, 1);
  auto comms = world.connect_all(1);
  std::vector<std::vector<float>> buf(cn::kMaxRequests + 1, std::vector<float>(1, 1));
  std::vector<Request*> requests;
  for (uint32_t i = 0; i < cn::kMaxRequests; ++i) requests.push_back(post(comms[0].get(), buf[i]));
  EXPECT_EQ(std::count(requests.begin(), requests.end(), nullptr), 0);
  EXPECT_EQ(post(comms[0].get(), buf.back()), nullptr);
  for (Request* r : requests) EXPECT_EQ(test::finish(r), 4u);
  EXPECT_EQ(test::finish(post(comms[0].get(), buf.back())), 4u);
}

TEST(CollnetWindow, EmptyMessageIsDoneAtOnce) {
  CollnetWorld world(1);
  auto comms = world.connect_all(2);
  std::vector<float> none;
  EXPECT_EQ(test::finish(post(comms[0].get(), none)), 0u);
  cn::Part part{nullptr, nullptr, 0};
  EXPECT_EQ(test::finish(*cn::iallgather(comms[0].get(), nullptr, part, {0, 0, 0})), 0u);
}

TEST(CollnetClose, PromptWithMessagesInFlightAndOthersLearn) {
  // The best of twenty: a busy machine may delay many.
  const milliseconds prompt(100);
  milliseconds best(1000);
  for (int attempt = 0; attempt < 3 || (attempt < 20 && best >= prompt); ++attempt) {
    CollnetWorld world(2);
    auto comms = world.connect_all(3);
    std::vector<std::vector<float>> buf(8, std::vector<float>(100000, 1));
    for (auto& b : buf) ASSERT_NE(post(comms[1].get(), b), nullptr);
    const auto begin = Clock::now();
    comms[1].reset();
    best = std::min(best, since(begin));
    each_rank(3, [&](int rank) {
      if (rank == 1) return;
      const std::string e = run_until_error(comms[static_cast<size_t>(rank)].get(), milliseconds(30000));
      EXPECT_TRUE(has(e, "rank 1")) << e;
    });
  }
  EXPECT_LT(best, prompt);
}

// ncclCommAbort: NCCL deregisters and frees its buffers with requests pending, and closes only then.
TEST(CollnetAbort, DeregisteredMemoryIsNotTouchedAnyMore) {
  LogCapture log;
  CollnetWorld world(2);
  auto comms = world.connect_all(2);
  std::vector<float> region(200000, 1);
  std::vector<std::vector<float>> other(4, std::vector<float>(50000, 1));
  char unrelated[64];
  Result<void*> handle =
      cn::register_memory(comms[0].get(), region.data(), region.size() * sizeof(float), NCCL_PTR_HOST);
  Result<void*> harmless = cn::register_memory(comms[0].get(), unrelated, sizeof unrelated, NCCL_PTR_HOST);
  ASSERT_TRUE(handle && harmless);
  Request* first = nullptr;
  for (size_t i = 0; i < 4; ++i) {
    float* at = region.data() + i * 50000;
    Result<Request*> r = cn::iallreduce(comms[0].get(), at, at, 50000, DType::kF32, RedOp::kSum);
    ASSERT_TRUE(r && *r);
    if (i == 0) first = *r;
  }
  // Memory no message uses: nothing happens.
  EXPECT_TRUE(cn::deregister_memory(comms[0].get(), *harmless));
  Result<bool> done = cn::test(first, nullptr);
  ASSERT_TRUE(done);
  EXPECT_FALSE(*done);

  const auto begin = Clock::now();
  EXPECT_TRUE(cn::deregister_memory(comms[0].get(), *handle));
  EXPECT_LT(since(begin), kSoon);
  std::fill(region.begin(), region.end(), 7.f);
  for (auto& b : other) {
    Result<Request*> r =
        cn::iallreduce(comms[1].get(), b.data(), b.data(), b.size(), DType::kF32, RedOp::kSum);
    if (!r) break;  // has heard already
  }
  EXPECT_TRUE(has(run_until_error(comms[1].get(), milliseconds(30000)), "rank 0"));
  EXPECT_EQ(std::count(region.begin(), region.end(), 7.f), 200000);
  EXPECT_FALSE(cn::test(first, nullptr));
  EXPECT_EQ(log.count(NCCL_LOG_WARN, "rank 0 of 2"), 0u) << log.all();
}

TEST(CollnetClose, CleanLeavesNothingBehind) {
  auto threads = [] { return test::Footprint::of().threads; };
  LogCapture log;
  CollnetWorld world(2);
  const size_t threads_before = threads(), fds_before = test::open_descriptors();
  auto comms = world.connect_all(2);
  EXPECT_EQ(threads(), threads_before + 2);  // one I/O thread per rank
  each_rank(2, [&](int rank) {
    std::vector<float> buf(1000, 1);
    test::finish(post(comms[static_cast<size_t>(rank)].get(), buf));
  });
  comms.clear();
  EXPECT_EQ(threads(), threads_before);
  // The reducers close their ends as soon as they hear of it.
  EXPECT_TRUE(test::within(std::chrono::seconds(10), [&] { return test::open_descriptors() <= fds_before; }));
  for (auto& r : world.reducers) {
    EXPECT_EQ(r->stats().aborted, 0u);
    EXPECT_EQ(r->stats().sessions_open, 0u);
  }
  EXPECT_EQ(log.count(NCCL_LOG_WARN), 0u) << log.all();
  EXPECT_EQ(log.count(NCCL_LOG_INFO, "uses 2 reducers"), 2u) << log.all();
}

TEST(CollnetLoss, ReducerStoppedAmidMessages) {
  LogCapture log;
  CollnetWorld world(2);
  auto comms = world.connect_all(3);
  std::atomic<int> rounds{0};
  std::atomic<bool> stopped{false};
  Clock::time_point begin;
  std::thread stopper([&] {
    while (rounds < 10) std::this_thread::yield();
    begin = Clock::now();
    stopped = true;
    world.reducers[1].reset();
  });
  const std::string name = world.reducers[1]->address().text();
  each_rank(3, [&](int rank) {
    Comm* comm = comms[static_cast<size_t>(rank)].get();
    const std::string e = run_until_error(comm, milliseconds(30000), &rounds);
    EXPECT_TRUE(stopped);
    EXPECT_LT(since(begin), kSoon);
    EXPECT_TRUE(has(e, name) || has(e, "rank")) << e;
    // The same error from now on.
    EXPECT_EQ(run_until_error(comm, milliseconds(100)), e);
  });
  stopper.join();
  EXPECT_EQ(log.count(NCCL_LOG_WARN, " lost: rank"), 3u) << log.all();
}

TEST(CollnetLoss, ReducerLostWhileIdleIsRemembered) {
  LogCapture log;
  CollnetWorld world(1);
  auto comms = world.connect_all(2);
  world.reducers.clear();
  for (int i = 0; i < 2000 && log.count(NCCL_LOG_WARN) < 2; ++i) usleep(1000);
  for (auto& c : comms) EXPECT_TRUE(has(run_until_error(c.get(), milliseconds(30000)), "stopped"));
}

TEST(CollnetLoss, RankClosedAmidMessages) {
  CollnetWorld world(2);
  auto comms = world.connect_all(4);
  std::atomic<Clock::time_point> closed{Clock::time_point::max()};
  each_rank(4, [&](int rank) {
    auto& comm = comms[static_cast<size_t>(rank)];
    if (rank == 2) {
      std::vector<float> buf(50000, 1);
      for (int i = 0; i < 5; ++i) {
        Result<Request*> r =
            cn::iallreduce(comm.get(), buf.data(), buf.data(), buf.size(), DType::kF32, RedOp::kMax);
        ASSERT_TRUE(r);
        test::finish(*r);
      }
      closed = Clock::now();
      comm.reset();
      return;
    }
    const std::string e = run_until_error(comm.get(), milliseconds(30000));
    EXPECT_TRUE(has(e, "rank 2")) << e;
    EXPECT_LT(since(closed), kSoon);
  });
}

TEST(CollnetLoss, SilenceEndsWithTheOption) {
  CollnetWorld world(1);
  plugin::Options o = world.options();
  o.timeout = milliseconds(300);
  auto comms = world.connect_all(2, o);
  std::vector<float> buf(1000, 1);
  const auto begin = Clock::now();
  const std::string e = test::wait_for_error(post(comms[0].get(), buf), milliseconds(20000));
  EXPECT_TRUE(has(e, "was silent for 300 ms")) << e;
  EXPECT_TRUE(has(e, "FANIN_TIMEOUT_MS")) << e;
  EXPECT_GE(since(begin), milliseconds(290));
  EXPECT_LT(since(begin), kSoon);
}

TEST(CollnetLoss, DisagreementNamesBothRanks) {
  CollnetWorld world(1, 1);
  auto comms = world.connect_all(2);
  std::vector<float> a(100), b(200);
  Request* x = post(comms[0].get(), a);
  Request* y = post(comms[1].get(), b);
  for (Request* r : {x, y}) {
    const std::string e = test::wait_for_error(r, milliseconds(2000));
    EXPECT_TRUE(has(e, "rank 0") && has(e, "rank 1") && has(e, "400") && has(e, "800")) << e;
  }
}

TEST(CollnetMany, CommunicatorsFromSeveralThreads) {
  CollnetWorld world(2);
  constexpr int kComms = 4;
  std::vector<std::vector<std::unique_ptr<Comm>>> all(kComms);
  each_rank(kComms, [&](int c) {
    auto& comms = all[static_cast<size_t>(c)];
    comms = world.connect_all(2);
    each_rank(2, [&](int rank) {
      Comm* comm = comms[static_cast<size_t>(rank)].get();
      for (size_t m = 0; m < 20; ++m) {
        std::vector<float> buf(3000 + m);
        for (size_t i = 0; i < buf.size(); ++i) buf[i] = test::input(rank, m + static_cast<size_t>(c), i);
        test::finish(post(comm, buf));
        for (size_t i = 0; i < buf.size(); ++i)
          ASSERT_EQ(buf[i], test::expected_sum(2, m + static_cast<size_t>(c), i));
      }
    });
  });
}

TEST(CollnetGuest, DescriptorsAreCloseOnExecAndForkIsHarmless) {
  CollnetWorld world(1);
  auto comms = world.connect_all(2);
  for (const int fd : test::descriptors()) {
    if (fd <= 2) continue;
    std::error_code ec;
    const std::string what =
        std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), ec).string();
    if (!has(what, "socket") && !has(what, "anon_inode")) continue;
    const int flags = fcntl(fd, F_GETFD);
    EXPECT_TRUE(flags < 0 || (flags & FD_CLOEXEC) != 0) << what;
  }
  const pid_t child = fork();
  if (child == 0) _exit(0);
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  each_rank(2, [&](int rank) {
    std::vector<float> buf(1000, 1);
    test::finish(post(comms[static_cast<size_t>(rank)].get(), buf));
    EXPECT_EQ(buf[7], 2);
  });
}

TEST(CollnetMemory, HostOnlyAndTheSameRegionManyTimes) {
  CollnetWorld world(1);
  auto comms = world.connect_all(1);
  char region[64];
  Comm* c = comms[0].get();
  Result<void*> a = cn::register_memory(c, region, sizeof region, NCCL_PTR_HOST);
  Result<void*> b = cn::register_memory(c, region, sizeof region, NCCL_PTR_HOST);
  ASSERT_TRUE(a && b);
  EXPECT_NE(*a, nullptr);
  EXPECT_NE(*a, *b);
  EXPECT_TRUE(cn::deregister_memory(c, *a));
  EXPECT_FALSE(cn::deregister_memory(c, *a));
  EXPECT_FALSE(cn::deregister_memory(c, nullptr));
  EXPECT_TRUE(cn::deregister_memory(c, *b));
  Result<void*> gpu = cn::register_memory(c, region, sizeof region, NCCL_PTR_CUDA);
  ASSERT_FALSE(gpu);
  EXPECT_EQ(gpu.error().code(), Errc::kInvalidArgument);
  EXPECT_TRUE(has(gpu.error().text(), "GPUDirect")) << gpu.error().text();
}

TEST(CollnetArguments, ImpossibleWindowsAreRefused) {
  CollnetWorld world(1);
  auto comms = world.connect_all(1);
  Comm* c = comms[0].get();
  char buf[64];
  EXPECT_FALSE(cn::iallgather(c, buf, {nullptr, buf, 64}, {32, 16, 32}));
  EXPECT_FALSE(cn::iallgather(c, buf, {nullptr, buf, 8}, {32, 0, 32}));
  EXPECT_FALSE(cn::ireducescatter(c, {nullptr, buf, 64}, buf, {32, 2, 8}, DType::kF32, RedOp::kSum));
  EXPECT_FALSE(cn::iallreduce(c, buf, buf, 1, static_cast<DType>(12), RedOp::kSum));
  EXPECT_FALSE(cn::iallreduce(c, buf, buf, SIZE_MAX / 2, DType::kF32, RedOp::kSum));
  EXPECT_TRUE(cn::reduce_supported(11, 3));
  EXPECT_FALSE(cn::reduce_supported(12, 0));
  EXPECT_FALSE(cn::reduce_supported(0, 4));
  EXPECT_FALSE(cn::reduce_supported(-1, 0));
}

}  // namespace
}  // namespace fanin
