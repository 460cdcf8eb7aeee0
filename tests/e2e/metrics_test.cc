// fanin-reducer's status port as a program has it: where it listens, what Prometheus' own client makes of it, draining.
#include <gtest/gtest.h>
#include <signal.h>

#include "reducer/http/client.h"
#include "tests/support/program.h"
#include "tests/support/reducer_fixture.h"
#include "tests/support/status_of.h"

namespace fanin {
namespace {

using std::chrono::milliseconds;
using test::address_after;
using test::has;
using test::Program;
using test::RawWorker;
using Args = std::vector<std::string>;

struct Reducer {
  explicit Reducer(Args more = {}) : program(test::built("bin/fanin-reducer"), args(more)) {
    said = program.wait_for("kernels, ");
    at = address_after(said, "ready on ");
    status = address_after(said, "status at http://");
  }
  static Args args(const Args& more) {
    Args a = {"--listen", "127.0.0.1:0", "--lanes", "2", "--memory", "64M"};
    a.insert(a.end(), more.begin(), more.end());
    return a;
  }
  reducer::http::Answer get(const std::string& path) {
    auto a = reducer::http::ask(status, "GET", path, Deadline::after(milliseconds(10000)));
    EXPECT_TRUE(a) << a.error().text();
    return a ? *a : reducer::http::Answer{};
  }
  Program program;
  std::string said;
  tcp::Address at, status;
};

TEST(Metrics, ListenOnLoopbackByDefault) {
  Reducer r;
  EXPECT_TRUE(r.status.is_loopback()) << r.said;
  EXPECT_EQ(r.get("/healthz").status, 200);
}

TEST(Metrics, TakeThePortAThousandAfterListensAndAnyOtherWhereThatIsTaken) {
  // A port from which 1000 on is free: held by a reducer that is gone then.
  for (int attempt = 0; attempt < 20; ++attempt) {
    uint16_t port;
    {
      Reducer r({"--metrics", "off"});
      EXPECT_FALSE(has(r.said, "status at")) << r.said;
      port = r.at.port();
    }
    const std::string at = "127.0.0.1:" + std::to_string(port);
    Program first(test::built("bin/fanin-reducer"), {"--listen", at, "--lanes", "1", "--memory", "16M"});
    const tcp::Address status = address_after(first.wait_for("\n"), "status at http://");
    if (status.port() != port + 1000) continue;  // somebody took it, or port itself
    Program second(test::built("bin/fanin-reducer"),
                   {"--listen", "127.0.0.2:" + std::to_string(port), "--lanes", "1", "--memory", "16M"});
    const std::string said = second.wait_for("kernels, ");
    EXPECT_TRUE(has(said, "ready on")) << said;
    EXPECT_NE(address_after(said, "status at http://").port(), port + 1000) << said;
    return;
  }
  FAIL() << "no two such free ports in 20 attempts";
}

TEST(Metrics, WhatIsAskedForAndCannotBeHadIsAnError) {
  Reducer r;
  Program::Outcome o =
      Program(test::built("bin/fanin-reducer"), Reducer::args({"--metrics", r.status.text()})).wait();
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_TRUE(has(o.err, "--metrics: cannot bind " + r.status.text())) << o.err;
  o = Program(test::built("bin/fanin-reducer"), Reducer::args({"--metrics", "on"})).wait();
  EXPECT_EQ(o.exit_code, 2);
  EXPECT_TRUE(has(o.err, "--metrics (auto, off or HOST:PORT)")) << o.err;
}

// The text format as its users read it.
TEST(Metrics, ArePrometheusText) {
  Reducer r({"--metrics", "127.0.0.1:0"});
  test::run_session(r.at, 1, 2, 2, 1 << 20, {{Coll::kAllReduce, 1 << 20}});
  const std::string script = R"(
import sys, urllib.request
from prometheus_client.parser import text_string_to_metric_families
with urllib.request.urlopen(sys.argv[1]) as r:
    assert r.headers['Content-Type'].startswith('text/plain; version=0.0.4'), r.headers
    families = list(text_string_to_metric_families(r.read().decode()))
names = [f.name for f in families]
assert len(names) == len(set(names)) and len(names) > 20, names
for f in families:
    assert f.type in ('counter', 'gauge') and f.documentation and f.samples, f
    assert all(s.name.startswith('fanin_reducer_') and len(s.labels) <= 1 for s in f.samples), f
values = {(s.name, *s.labels.values()): s.value for f in families for s in f.samples}
assert values['fanin_reducer_ready',] == 1, values
assert values['fanin_reducer_sessions_opened_total',] == 1, values
reduced = sum(v for k, v in values.items() if k[0] == 'fanin_reducer_reduced_bytes_total')
assert reduced == 1 << 20, reduced
print('parsed')
)";
  Program python("/usr/bin/python3", {"-c", script, "http://" + r.status.text() + "/metrics"});
  Program::Outcome o = python.wait();
  EXPECT_EQ(o.exit_code, 0) << o.err;
  EXPECT_EQ(o.out, "parsed\n");
}

TEST(Metrics, SessionsAreJson) {
  Reducer r;
  RawWorker w(r.at);
  w.join(RawWorker::hello(RawWorker::session(1), 0, 2));
  const std::string script = R"(
import json, sys, urllib.request
with urllib.request.urlopen(sys.argv[1]) as r: told = json.load(r)
s, = told['sessions']
assert s['ranks'] == 2 and s['connections'] == 1 and [l['lane'] for l in s['lanes']] == [0], told
print('parsed')
)";
  Program python("/usr/bin/python3", {"-c", script, "http://" + r.status.text() + "/sessions"});
  Program::Outcome o = python.wait();
  EXPECT_EQ(o.out, "parsed\n") << o.err;
}

TEST(Metrics, NotReadyWhileDrainingAndGoneAfterwards) {
  Reducer r;
  EXPECT_EQ(r.get("/readyz").status, 200);
  RawWorker w(r.at);
  w.join(RawWorker::hello(RawWorker::session(1), 0, 2));
  r.program.kill(SIGTERM);
  r.program.wait_for("draining: 1 sessions");
  EXPECT_EQ(r.get("/readyz").status, 503);
  EXPECT_EQ(r.get("/healthz").status, 200);
  w.send(RawWorker::goodbye());
  EXPECT_EQ(r.program.wait().exit_code, 0);
  EXPECT_FALSE(reducer::http::ask(r.status, "GET", "/healthz", Deadline::after(milliseconds(2000))));
}

}  // namespace
}  // namespace fanin
