// fanin-reducer's log under those who read it badly and those who write too much of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "reducer/line_budget.h"
#include "tests/support/process.h"
#include "tests/support/reducer_fixture.h"
#include "tests/support/status_of.h"

namespace fanin {
namespace {

using std::chrono::milliseconds;
using test::has;
using test::RawWorker;

// A session of one rank that comes and goes: two lines of the log. False: it was not served.
bool come_and_go(const tcp::Address& at) {
  RawWorker w(at);
  if (w.join(RawWorker::hello(RawWorker::session(1), 0, 1)).refusal != wire::Refusal::kNone) return false;
  w.send(RawWorker::goodbye());
  w.expect_closed();
  return !testing::Test::HasFailure();
}

// A log collector that stands still: the pipe is full after some 400 sessions.
TEST(ReducerLog, AReaderThatStandsStillStopsNobody) {
  test::Program reducer(test::built("bin/fanin-reducer"),
                        {"--listen", "127.0.0.1:0", "--lanes", "1", "--memory", "64M", "--metrics", "off"});
  const tcp::Address at = test::address_after(reducer.wait_for(" secret asked for\n"), "ready on ");
  for (int i = 0; i < 490; ++i) ASSERT_TRUE(come_and_go(at)) << "session " << i;
  reducer.wait_for(" ended\n");  // it reads again, so there is room
  ASSERT_TRUE(come_and_go(at));
  const std::string said = reducer.wait_for("lines were left out: whoever reads this log did not take them");
  std::istringstream lines(said.substr(0, said.rfind('\n')));
  for (std::string line; std::getline(lines, line);) EXPECT_TRUE(has(line, "Z fanin-reducer: ")) << line;
}

TEST(ReducerLog, SessionsWithoutEndDoNotFillIt) {
  test::ReducerProcess reducer(1);
  const auto at = *tcp::Address::numeric("127.0.0.1", reducer.port());
  const auto began = Deadline::Clock::now();
  for (int i = 0; i < 1500; ++i) ASSERT_TRUE(come_and_go(at)) << "session " << i;
  const auto intervals = (Deadline::Clock::now() - began) / std::chrono::seconds(10) + 1;
  const std::string said = reducer.said();
  EXPECT_LE(std::count(said.begin(), said.end(), '\n'), 1000 * intervals + 10);
}

TEST(LineBudget, SoManyInAnIntervalAndTheRestIsCounted) {
  reducer::LineBudget budget(milliseconds(1000), 3);
  const Deadline::Clock::time_point t{std::chrono::hours(1)};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(budget.line(t + milliseconds(i)), 0u);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(budget.line(t + milliseconds(999)), std::nullopt);
  EXPECT_EQ(budget.line(t + milliseconds(1000)), 5u);
  EXPECT_EQ(budget.line(t + milliseconds(1000)), 0u);
}

}  // namespace
}  // namespace fanin
