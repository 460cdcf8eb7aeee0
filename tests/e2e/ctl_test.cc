// fanin-ctl against a running fanin-reducer, and what it says when it cannot.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "fanin/version.h"
#include "tests/support/program.h"
#include "tests/support/reducer_fixture.h"
#include "tests/support/status_of.h"

namespace fanin {
namespace {

using test::has;
using test::Program;
using test::RawWorker;
using Args = std::vector<std::string>;

Program::Outcome ctl(const Args& args) { return Program(test::built("bin/fanin-ctl"), args).wait(); }

class Ctl : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/fanin-ctl-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    good_ = file("good", "an-admin-secret-for-tests\n");
    bad_ = file("bad", "another-secret-for-tests-\n");
  }
  void TearDown() override {
    unlink(good_.c_str());
    unlink(bad_.c_str());
    rmdir(folder_.c_str());
  }
  void start(const Args& more = {}) {
    Args args = {"--listen", "127.0.0.1:0", "--lanes", "2", "--memory", "64M"};
    args.insert(args.end(), more.begin(), more.end());
    reducer_ = std::make_unique<Program>(test::built("bin/fanin-reducer"), args);
    const std::string said = reducer_->wait_for("kernels, ");
    at_ = test::address_after(said, "ready on ");
    status_ = test::address_after(said, "status at http://").text();
  }
  std::string file(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    chmod(path.c_str(), 0600);
    return path;
  }
  std::string folder_, good_, bad_, status_;
  std::unique_ptr<Program> reducer_;
  tcp::Address at_;
};

TEST_F(Ctl, ShowsStatusAndSessions) {
  start();
  RawWorker w(at_);
  w.join(RawWorker::hello(RawWorker::session(1), 0, 2));
  Program::Outcome o = ctl({"status", status_});
  EXPECT_EQ(o.exit_code, 0) << o.err;
  EXPECT_TRUE(has(o.out, " at " + status_ + ": ready, up ")) << o.out;
  EXPECT_TRUE(has(o.out, "1 open, 1 opened, 0 aborted; 1 connection\n")) << o.out;
  o = ctl({"sessions", status_});
  EXPECT_EQ(o.exit_code, 0) << o.err;
  EXPECT_TRUE(has(o.out, "\n0100000") || has(o.out, "\n01")) << o.out;
  EXPECT_EQ(std::count(o.out.begin(), o.out.end(), '\n'), 2) << o.out;
  o = ctl({"sessions", "--json", status_});
  EXPECT_EQ(o.out.rfind("{\"version\":", 0), 0u) << o.out;
}

TEST_F(Ctl, DrainsWithTheAdminSecret) {
  start({"--admin-secret-file", good_});
  RawWorker w(at_), late(at_);
  w.join(RawWorker::hello(RawWorker::session(1), 0, 2));
  Program::Outcome o = ctl({"drain", "--secret-file", bad_, status_});
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_TRUE(has(o.err, "it will not drain: the secret is none of this reducer's --admin-secret-file"))
      << o.err;
  o = ctl({"drain", "--secret-file", good_, status_});
  EXPECT_EQ(o.exit_code, 0) << o.err;
  EXPECT_TRUE(has(o.out, "draining: no new sessions")) << o.out;
  reducer_->wait_for("draining: 1 sessions");
  // Asked again it goes on draining: only a second signal cuts sessions off.
  EXPECT_EQ(ctl({"drain", "--secret-file", good_, status_}).exit_code, 0);
  EXPECT_EQ(late.greet(RawWorker::hello(RawWorker::session(2), 0, 2)).refusal, wire::Refusal::kDraining);
  EXPECT_TRUE(has(ctl({"status", status_}).out, ": draining, up "));
  Program waiting(test::built("bin/fanin-ctl"), {"drain", "--wait", "60", "--secret-file", good_, status_});
  w.send(RawWorker::goodbye());
  Program::Outcome ended = reducer_->wait();
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_TRUE(has(ended.err, "asked to drain over HTTP, with the admin secret 'line 1'")) << ended.err;
  o = waiting.wait();
  // It may have come when the reducer had ended already, or in the moment in which it did: connected, and cut off.
  EXPECT_TRUE((o.exit_code == 0 && has(o.out, ": ended\n")) || has(o.err, "Connection refused") ||
              has(o.err, "does not speak HTTP") || has(o.err, "Connection reset"))
      << o.out << o.err;
}

TEST_F(Ctl, WithoutAnAdminSecretItSaysHow) {
  start();
  Program::Outcome o = ctl({"drain", "--secret-file", good_, status_});
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_TRUE(has(o.err, "403") && has(o.err, "SIGTERM")) << o.err;
}

TEST_F(Ctl, ErrorsAreOneLine) {
  start();
  const struct {
    Args args;
    int code;
    std::string says;
  } cases[] = {{{}, 2, "--help"},
               {{"status"}, 2, "address"},
               {{"restart", "x:1"}, 2, "--help"},
               {{"status", "nohost"}, 2, "no port"},
               {{"drain", "127.0.0.1:1"}, 2, "--secret-file"},
               {{"drain", "--secret-file", "/nonexistent", status_}, 2, "/nonexistent"},
               {{"status", "127.0.0.1:1"}, 1, "127.0.0.1:1: connecting to 127.0.0.1:1: Connection refused"},
               // The workers' port.
               {{"status", at_.text()}, 1, "--metrics"}};
  for (auto& c : cases) {
    Program::Outcome o = ctl(c.args);
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
    EXPECT_TRUE(has(o.err, c.says)) << o.err;
    EXPECT_EQ(o.exit_code, c.code) << o.err;
  }
}

TEST(Version, IsOneForAllPrograms) {
  for (const char* name : {"fanin-reducer", "fanin-ctl", "fanin-perf", "fanin-nccl-perf", "fanin-topo"}) {
    if (access(test::built("bin/" + std::string(name)).c_str(), X_OK) != 0)
      continue;  // fanin-nccl-perf needs CUDA
    Program::Outcome o = Program(test::built("bin/" + std::string(name)), {"--version"}).wait();
    EXPECT_EQ(o.exit_code, 0) << name;
    EXPECT_EQ(o.out, std::string(name) + " " + kFaninVersion + "\n");
  }
}

}  // namespace
}  // namespace fanin
