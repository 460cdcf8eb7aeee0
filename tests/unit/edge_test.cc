// plugin/abi/edge.h: what becomes of an Error, an exception, a NULL argument; and that repetition is not
// logged.
#include "plugin/abi/edge.h"

#include <gtest/gtest.h>

#include <cstdarg>
#include <stdexcept>
#include <thread>
#include <vector>

#include "plugin/log.h"

namespace fanin::plugin::abi {
namespace {

std::vector<std::string> g_lines;

// As NCCL without NCCL_DEBUG_SUBSYS: lines of other subsystems are not shown, whatever their level.
void logger(int level, unsigned long subsystems, const char*, int, const char* fmt, ...) {
  if (level != NCCL_LOG_WARN || !(subsystems & (NCCL_INIT | NCCL_ENV))) return;
  char text[2048];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  g_lines.push_back(text);
}

class Edge : public testing::Test {
 protected:
  void SetUp() override {
    set_logger(logger);
    g_lines.clear();
  }
  void TearDown() override { set_logger(nullptr); }
};

TEST_F(Edge, SuccessIsSilent) {
  EXPECT_EQ(at_edge({"listen"}, []() -> Status { return {}; }), ncclSuccess);
  EXPECT_TRUE(g_lines.empty());
}

TEST_F(Edge, EveryCodeHasItsResultAndOneLine) {
  const std::pair<Errc, ncclResult_t> table[] = {{Errc::kSystem, ncclSystemError},
                                                 {Errc::kInternal, ncclInternalError},
                                                 {Errc::kInvalidArgument, ncclInvalidArgument},
                                                 {Errc::kInvalidUsage, ncclInvalidUsage},
                                                 {Errc::kRemote, ncclRemoteError}};
  for (const auto& [code, result] : table) {
    g_lines.clear();
    EXPECT_EQ(at_edge({"connect"}, [&, c = code]() -> Status { return Error(c, "host b is gone"); }), result);
    ASSERT_EQ(g_lines.size(), 1u);
    EXPECT_NE(g_lines[0].find("connect: host b is gone"), std::string::npos) << g_lines[0];
  }
}

TEST_F(Edge, ALostSessionIsShownToWhoeverSeesWarnings) {
  log_error("session lost", Error(Errc::kRemote, "rank 3 is gone"));
  ASSERT_EQ(g_lines.size(), 1u);
}

TEST_F(Edge, ExceptionsStopHere) {
  EXPECT_EQ(at_edge({"regMr"}, []() -> Status { throw std::bad_alloc(); }), ncclSystemError);
  EXPECT_EQ(at_edge({"regMr"}, []() -> Status { throw std::runtime_error("boo"); }), ncclInternalError);
  EXPECT_EQ(at_edge({"regMr"}, []() -> Status { throw 42; }), ncclInternalError);
  ASSERT_EQ(g_lines.size(), 3u);
  EXPECT_NE(g_lines[0].find("regMr: out of memory"), std::string::npos) << g_lines[0];
  EXPECT_NE(g_lines[1].find("boo"), std::string::npos) << g_lines[1];
}

TEST_F(Edge, ProgressCallsSayAnErrorOncePerThread) {
  const Call call{"test", true};
  const auto lost = []() -> Status { return Error(Errc::kRemote, "reducer r0:4000 is lost"); };
  const auto other = []() -> Status { return Error(Errc::kRemote, "rank 3 is lost"); };
  for (int i = 0; i < 100; ++i) EXPECT_EQ(at_edge(call, lost), ncclRemoteError);
  EXPECT_EQ(g_lines.size(), 1u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(at_edge(call, other), ncclRemoteError);
  EXPECT_EQ(g_lines.size(), 2u);
  // Another communicator has another progress thread.
  std::thread([&] { at_edge(call, other); }).join();
  EXPECT_EQ(g_lines.size(), 3u);
  // Calls that are made once are always heard.
  at_edge({"closeColl"}, other);
  at_edge({"closeColl"}, other);
  EXPECT_EQ(g_lines.size(), 5u);
}

TEST_F(Edge, NamesTheArgumentThatIsNull) {
  int here = 0;
  EXPECT_TRUE(all_given({{&here, "a"}, {&here, "b"}}));
  const Status status = all_given({{&here, "a"}, {nullptr, "handle"}});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), Errc::kInvalidArgument);
  EXPECT_NE(status.error().text().find("handle"), std::string::npos);
}

TEST_F(Edge, ResultsGoOutOnlyOnSuccess) {
  void* out = &g_lines;
  EXPECT_FALSE(hand_out(Result<int*>(Error(Errc::kSystem, "no")), &out));
  EXPECT_EQ(out, &g_lines);
  int value = 0;
  EXPECT_TRUE(hand_out(Result<int*>(&value), &out));
  EXPECT_EQ(out, &value);
}

}  // namespace
}  // namespace fanin::plugin::abi
