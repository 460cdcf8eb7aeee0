// What a reducer tells over HTTP, against what happened to it.
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "reducer/metrics/families.h"
#include "reducer/metrics/status_board.h"
#include "tests/support/reducer_fixture.h"

namespace fanin::reducer::metrics {
namespace {

using std::chrono::milliseconds;
using test::eventually;
using test::has;
using test::RawWorker;

struct Board {
  explicit Board(ReducerConfig c = test::reducer_config(2))
      : config(c), reducer(test::start_reducer(c)), board(*reducer, c) {}
  http::Response get(const std::string& path, const std::string& method = "GET") {
    return board.answer({method, path, ""}, {});
  }
  // The value of a sample, "name" or "name{label="x"}"; "" when it is not there.
  std::string sample(const std::string& name) {
    std::stringstream lines(get("/metrics").body);
    for (std::string line; std::getline(lines, line);)
      if (line.rfind(name + " ", 0) == 0) return line.substr(name.size() + 1);
    return "";
  }
  const ReducerConfig config;
  std::unique_ptr<Reducer> reducer;
  StatusBoard board;
};

TEST(StatusBoard, EveryFamilyIsThereOnceWithASample) {
  Board b;
  const http::Response r = b.get("/metrics");
  EXPECT_EQ(r.status, 200);
  EXPECT_TRUE(has(r.type, "version=0.0.4"));
  for (const Family& f : kFamilies) {
    const std::string help = "# HELP " + std::string(f.name) + " ";
    const size_t at = r.body.find(help);
    ASSERT_NE(at, std::string::npos) << f.name;
    EXPECT_EQ(r.body.find(help, at + 1), std::string::npos) << f.name;
    const size_t line = r.body.find('\n', r.body.find("# TYPE " + std::string(f.name) + " ")) + 1;
    EXPECT_EQ(r.body.compare(line, strlen(f.name), f.name), 0) << f.name;
  }
}

// Of the values that a label may have, the table says all that are exported, and no others.
TEST(StatusBoard, LabelsAreWhatTheTableSays) {
  Board b;
  const std::string body = b.get("/metrics").body;
  for (const Family& f : kFamilies) {
    if (!*f.label) continue;
    std::set<std::string> exported;
    const std::string start = "\n" + std::string(f.name) + "{" + f.label + "=\"";
    for (size_t at = 0; (at = body.find(start, at)) != std::string::npos; ++at)
      exported.insert(body.substr(at + start.size(), body.find('"', at + start.size()) - at - start.size()));
    std::set<std::string> said;
    std::stringstream words(f.values);
    for (std::string word; words >> word;) said.insert(word.substr(0, word.find(',')));
    if (f.label == std::string("lane"))
      EXPECT_EQ(exported, (std::set<std::string>{"0", "1"}));
    else if (f.label == std::string("version"))
      EXPECT_EQ(exported.size(), 1u);
    else
      EXPECT_EQ(exported, said) << f.name;
  }
}

TEST(StatusBoard, CountsASession) {
  Board b;
  test::run_session(b.reducer->address(), 1, 3, 2, 1 << 20, {{Coll::kAllReduce, 1 << 20}});
  ASSERT_TRUE(eventually([&] { return b.reducer->stats().sessions_open == 0; }));
  EXPECT_EQ(b.sample("fanin_reducer_sessions_opened_total"), "1");
  EXPECT_EQ(b.sample("fanin_reducer_sessions"), "0");
  EXPECT_EQ(b.sample("fanin_reducer_handshakes_ended_total{outcome=\"admitted\"}"), "6");
  uint64_t in = 0, out = 0, reduced = 0;
  for (const char* lane : {"0", "1"}) {
    const std::string label = "{lane=\"" + std::string(lane) + "\"}";
    in += std::stoull(b.sample("fanin_reducer_received_bytes_total" + label));
    out += std::stoull(b.sample("fanin_reducer_sent_bytes_total" + label));
    reduced += std::stoull(b.sample("fanin_reducer_reduced_bytes_total" + label));
    EXPECT_GT(std::stod(b.sample("fanin_reducer_lane_cpu_seconds_total" + label)), 0);
  }
  EXPECT_EQ(in, 3 * uint64_t{1 << 20});
  EXPECT_EQ(out, in);
  EXPECT_EQ(reduced * 3, in);
}

TEST(StatusBoard, SaysWhoIsWaitedFor) {
  ReducerConfig c = test::reducer_config(1);
  c.stall = milliseconds(20);
  Board b(c);
  RawWorker first(b.reducer->address()), second(b.reducer->address());
  first.join(RawWorker::hello(RawWorker::session(1), 0, 2));
  second.join(RawWorker::hello(RawWorker::session(1), 1, 2));
  EXPECT_EQ(b.sample("fanin_reducer_sessions"), "1");
  EXPECT_EQ(b.sample("fanin_reducer_sessions_waiting"), "0");
  const float one = 1;
  first.send(RawWorker::all_reduce(7, 4));
  first.send(one);
  EXPECT_TRUE(eventually([&] { return b.sample("fanin_reducer_sessions_waiting") == "1"; }));
  EXPECT_GE(std::stod(b.sample("fanin_reducer_longest_wait_seconds")), 0.02);
  const std::string json = b.get("/sessions").body;
  EXPECT_TRUE(has(json, "\"waiting_for\":\"rank 1 (127.0.0.1:")) << json;
  EXPECT_TRUE(has(json, "\"message\":7")) << json;
  EXPECT_TRUE(has(json, "\"ranks\":2")) << json;
  EXPECT_TRUE(has(json, "\"received_bytes\":4")) << json;
  // Not more of the id than logs show: who knows it may join.
  EXPECT_TRUE(has(json, "\"name\":\"")) << json;
  EXPECT_EQ(json.find("\"name\":\"") + 8 + 8, json.find('"', json.find("\"name\":\"") + 8)) << json;
  second.send(RawWorker::all_reduce(7, 4));
  second.send(one);
  EXPECT_TRUE(eventually([&] { return b.sample("fanin_reducer_sessions_waiting") == "0"; }));
  EXPECT_TRUE(has(b.get("/sessions").body, "\"waiting_for\":\"\""));
}

TEST(StatusBoard, NamesASessionsSecretAndNeverTheSecret) {
  const std::string text = "secret-of-job-a-0123456789abcdef";
  const Secret secret = *Secret::make(text);
  ReducerConfig c = test::reducer_config(1);
  c.secrets = {{"team-a/llm", secret}};
  Board b(c);
  RawWorker w(b.reducer->address());
  w.greet(RawWorker::hello_with(secret, RawWorker::hello(RawWorker::session(1), 0, 2)));
  ASSERT_EQ(w.answer(secret).refusal, wire::Refusal::kNone) << w.refusal();
  const std::string json = b.get("/sessions").body;
  EXPECT_TRUE(has(json, "\"secret\":\"team-a/llm\"")) << json;
  EXPECT_FALSE(has(json, text)) << json;
}

TEST(StatusBoard, CountsWhatBrokeByItsFirstCause) {
  Board b(test::reducer_config(1));
  {
    RawWorker first(b.reducer->address()), second(b.reducer->address());
    first.join(RawWorker::hello(RawWorker::session(1), 0, 2));
    second.join(RawWorker::hello(RawWorker::session(1), 1, 2));
    RawWorker again(b.reducer->address());
    EXPECT_EQ(again.greet(RawWorker::hello(RawWorker::session(1), 1, 2)).refusal, wire::Refusal::kDuplicate);
  }
  ASSERT_TRUE(eventually([&] { return b.reducer->stats().sessions_open == 0; }));
  EXPECT_EQ(b.sample("fanin_reducer_sessions_aborted_total{reason=\"rank_lost\"}"), "1");
  EXPECT_EQ(b.sample("fanin_reducer_sessions_aborted_total{reason=\"timeout\"}"), "0");
  EXPECT_EQ(b.sample("fanin_reducer_refusals_total{reason=\"duplicate\"}"), "1");
}

TEST(StatusBoard, IsReadyUntilItDrains) {
  Board b;
  RawWorker first(b.reducer->address());
  first.join(RawWorker::hello(RawWorker::session(1), 0, 2));
  EXPECT_EQ(b.get("/healthz").status, 200);
  EXPECT_EQ(b.get("/readyz").status, 200);
  EXPECT_EQ(b.sample("fanin_reducer_ready"), "1");
  b.reducer->drain();
  EXPECT_EQ(b.get("/healthz").status, 200);
  EXPECT_EQ(b.get("/readyz").status, 503);
  EXPECT_TRUE(
      eventually([&] { return b.sample("fanin_reducer_ready") == "0"; }));  // what is 200 ms old may be told
  EXPECT_TRUE(has(b.get("/sessions").body, "\"draining\":true"));
}

TEST(StatusBoard, HasNothingElse) {
  Board b;
  EXPECT_EQ(b.get("/etc/passwd").status, 404);
  EXPECT_EQ(b.get("/metrics/").status, 404);
  EXPECT_EQ(b.get("/metrics", "POST").status, 405);
}

// However often somebody asks, the lanes are asked a few times a second.
TEST(StatusBoard, LanesAreNotAskedForEveryRequest) {
  Board b;
  const auto began = Deadline::Clock::now();
  const std::string first = b.get("/sessions").body;
  const std::string second = b.get("/sessions").body;
  if (Deadline::Clock::now() - began < StatusBoard::kLookEvery) {
    EXPECT_EQ(first, second);
  }
}

}  // namespace
}  // namespace fanin::reducer::metrics
