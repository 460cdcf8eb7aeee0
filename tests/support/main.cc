// main() of every GoogleTest program here, with a watchdog: a test that takes longer than FANIN_TEST_LIMIT_S
// (default 60) seconds is named on stderr and the program aborts, children included, so that a hang is a
// failure with a name.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace {

char g_current[256] = "(none)";
int g_limit = 60;

void on_alarm(int) {
  // Async-signal-safe: write and abort only.
  const char head[] = "\nWATCHDOG: test took too long: ";
  [[maybe_unused]] ssize_t n = write(2, head, sizeof head - 1);
  n = write(2, g_current, __builtin_strlen(g_current));
  n = write(2, "\n", 1);
  signal(SIGTERM, SIG_IGN);
  kill(0, SIGTERM);
  abort();
}

class Watchdog : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& info) override {
    snprintf(g_current, sizeof g_current, "%s.%s", info.test_suite_name(), info.name());
    alarm(static_cast<unsigned>(g_limit));
  }
  void OnTestEnd(const testing::TestInfo&) override { alarm(0); }
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (const char* v = getenv("FANIN_TEST_LIMIT_S")) g_limit = atoi(v);
  setpgid(0, 0);  // so that the watchdog ends the children a test forked, and nobody else
  signal(SIGALRM, on_alarm);
  signal(SIGPIPE, SIG_IGN);
  testing::UnitTest::GetInstance()->listeners().Append(new Watchdog);
  return RUN_ALL_TESTS();
}
