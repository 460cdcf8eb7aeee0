// What fanin-ctl makes of a reducer's answers.
#include <gtest/gtest.h>

#include "ctl/report.h"

namespace fanin::ctl {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Snapshot snapshot(double uptime, double bytes) {
  Snapshot s;
  s.version = "1.2.3";
  s.uptime_s = uptime;
  s.memory = 32.0 * (1 << 30);
  s.memory_used = 1 << 30;
  s.opened = 3;
  s.aborted = 1;
  s.connections = 8;
  s.stall_s = 5;
  s.lanes = {{{bytes, bytes, bytes / 4}, uptime * 0.5}, {{0, 0, 0}, uptime * 0.1}};
  SessionState one{"0a0b0c0d", "", 1, 4, 8, 17, 12.5, 0, 48.0 * (1 << 20), {bytes, bytes, bytes / 4}, "", ""};
  SessionState two{"11223344", "", 2, 2, 2, 0, 90061, 62, 0, {}, "rank 1 (10.0.0.7:41234)", ""};
  SessionState three{"55667788", "", 3, 2, 1, 0, 3, 0, 0, {}, "", "rank 0 is gone"};
  s.sessions = {one, two, three};
  return s;
}

TEST(Ctl, StatusSaysWhatMatters) {
  const std::string text = status_text(snapshot(100, 0), snapshot(102, 2.5e9), "10.0.0.1:4001");
  EXPECT_TRUE(has(text, "fanin-reducer 1.2.3 at 10.0.0.1:4001: ready, up 1 min 42 s\n")) << text;
  EXPECT_TRUE(has(text, "3 open, 3 opened, 1 aborted; 8 connections\n")) << text;
  EXPECT_TRUE(has(text, "1.0 GiB of 32.0 GiB promised\n")) << text;
  EXPECT_TRUE(has(text, "receives 10.0 Gbit/s, sends 10.0 Gbit/s, results 2.50 Gbit/s\n")) << text;
  EXPECT_TRUE(has(text, "2, 30 % of a core each; the busiest 50 %\n")) << text;
  EXPECT_TRUE(has(text, "1 session, 11223344 1 min 2 s for rank 1 (10.0.0.7:41234)\n")) << text;
}

TEST(Ctl, ASessionIsALine) {
  Snapshot before = snapshot(100, 0);
  before.sessions.erase(before.sessions.begin() + 1, before.sessions.end());
  const std::string text = sessions_text(before, snapshot(101, 1.25e6));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4) << text;
  EXPECT_TRUE(has(
      text, "0a0b0c0d      4      8        12.5 s    48.0 MiB   10.0 Mbit/s   10.0 Mbit/s          17  -\n"))
      << text;
  EXPECT_TRUE(has(text, "1 d 1 h         0 B       0 bit/s")) << text;
  EXPECT_TRUE(has(text, "1 min 2 s for rank 1 (10.0.0.7:41234)\n")) << text;
  EXPECT_TRUE(has(text, "aborted: rank 0 is gone\n")) << text;
  EXPECT_FALSE(has(text, "SECRET")) << text;
}

TEST(Ctl, SecretsAreNamedWhereThereAreSome) {
  Snapshot now = snapshot(101, 1.25e6);
  now.sessions[0].secret = "team-a/llm";
  const std::string text = sessions_text(snapshot(100, 0), now);
  EXPECT_TRUE(has(text, "  SECRET            WAITS FOR\n")) << text;
  EXPECT_TRUE(has(text, "  team-a/llm        -\n")) << text;
  EXPECT_TRUE(has(text, "  -                 aborted: rank 0 is gone\n")) << text;
}

// Nothing of it divides by zero, or trusts that totals grow: the reducer may have been restarted in between.
TEST(Ctl, OddTimesAreNoRates) {
  EXPECT_TRUE(has(status_text(snapshot(100, 5), snapshot(100, 9), "x"), "receives 0 bit/s"));
  EXPECT_TRUE(has(status_text(snapshot(100, 9e9), snapshot(101, 0), "x"), "receives 0 bit/s"));
  EXPECT_TRUE(has(status_text(snapshot(1e300, 0), snapshot(1e300, 0), "x"), "up 11574074074 d 1 h"));
  EXPECT_TRUE(has(status_text({}, {}, "x"), "lanes      0, 0 % of a core each"));
}

TEST(Ctl, ReadsWhatItKnowsAndPrintsNothingThatControlsATerminal) {
  Result<Snapshot> s = parse_snapshot(
      R"({"version":"1","uptime_seconds":2,"draining":true,"new":[1],"lanes":[{"cpu_seconds":1.5},7],
          "sessions":[{"name":"x\u001b[2J","ranks":3,"waiting_for":"a\nb","secret":"s\u001b","memory_bytes":4096,"message":"no number"},"none"]})");
  ASSERT_TRUE(s) << s.error().text();
  EXPECT_TRUE(s->draining);
  ASSERT_EQ(s->lanes.size(), 1u);
  ASSERT_EQ(s->sessions.size(), 1u);
  EXPECT_EQ(s->sessions[0].name, "x?[2J");
  EXPECT_EQ(s->sessions[0].waiting_for, "a?b");
  EXPECT_EQ(s->sessions[0].secret, "s?");
  EXPECT_EQ(s->sessions[0].memory, 4096);
  EXPECT_EQ(s->sessions[0].ranks, 3u);
  EXPECT_EQ(s->sessions[0].message, 0u);
}

TEST(Ctl, OthersAnswersAreErrors) {
  for (const char* text :
       {"", "[]", "7", "{", "{}", R"({"uptime_seconds":1})", R"({"uptime_seconds":1,"sessions":2})"})
    EXPECT_FALSE(parse_snapshot(text)) << text;
}

}  // namespace
}  // namespace fanin::ctl
