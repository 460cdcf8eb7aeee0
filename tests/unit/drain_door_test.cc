// Who may drain a reducer over HTTP, and who may not.
#include <gtest/gtest.h>

#include "fanin/drain_proof.h"
#include "reducer/metrics/drain_door.h"

namespace fanin::reducer::metrics {
namespace {

using Time = Deadline::Clock::time_point;

Secret secret(const std::string& text) { return *Secret::make(text); }
const std::string kAdmin = "0123456789abcdef0123", kOther = "fedcba98765432100000";

struct Door {
  Door()
      : door(*DrainDoor::make({{"ops", secret(kOther)}, {"me", secret(kAdmin)}},
                              [this](const std::string& who) { drained.push_back(who); })) {}
  std::string challenge() {
    http::Response r = door.answer({"GET", "/drain", ""}, now);
    EXPECT_EQ(r.status, 200);
    r.body.pop_back();
    return r.body;
  }
  int post(const std::string& authorization) {
    return door.answer({"POST", "/drain", authorization}, now).status;
  }
  std::vector<std::string> drained;
  DrainDoor door;
  Time now = Deadline::Clock::now();
};

TEST(DrainDoor, OpensForAnAdminSecret) {
  Door d;
  const std::string c = d.challenge();
  EXPECT_EQ(d.post("fanin " + c + " " + drain_proof(secret(kAdmin), c)), 202);
  EXPECT_EQ(d.drained, std::vector<std::string>{"me"});
  EXPECT_EQ(d.post("fanin " + c + " " + drain_proof(secret(kOther), c)), 202);
  EXPECT_EQ(d.drained.back(), "ops");
}

TEST(DrainDoor, StaysShutForOthers) {
  Door d, other;
  const std::string c = d.challenge(), proof = drain_proof(secret(kAdmin), c);
  EXPECT_EQ(d.post(""), 401);
  EXPECT_EQ(d.post("Basic YTpi"), 401);
  EXPECT_EQ(d.post("fanin "), 403);
  EXPECT_EQ(d.post("fanin " + c), 403);
  EXPECT_EQ(d.post("fanin " + c + " "), 403);
  EXPECT_EQ(d.post("fanin " + c + " " + drain_proof(secret("0123456789abcdef0124"), c)), 403);
  EXPECT_EQ(d.post("fanin " + c + " " + proof.substr(1)), 403);
  EXPECT_EQ(d.post("fanin " + c + " " + proof + "0"), 403);
  // A challenge that lives longer, that another reducer gave, or that nobody gave.
  const std::string longer = std::to_string(std::stoll(c) + 100000) + c.substr(c.find('.'));
  EXPECT_EQ(d.post("fanin " + longer + " " + drain_proof(secret(kAdmin), longer)), 403);
  const std::string theirs = other.challenge();
  EXPECT_EQ(d.post("fanin " + theirs + " " + drain_proof(secret(kAdmin), theirs)), 403);
  for (const std::string& none : {std::string("x"), std::string("1"), std::string("99999999999999999999.aa")})
    EXPECT_EQ(d.post("fanin " + none + " " + drain_proof(secret(kAdmin), none)), 403);
  EXPECT_TRUE(d.drained.empty());
  d.now += DrainDoor::kChallengeLives + std::chrono::milliseconds(1);
  EXPECT_EQ(d.post("fanin " + c + " " + proof), 403);
  EXPECT_TRUE(d.drained.empty());
}

TEST(DrainDoor, IsShutWithoutSecrets) {
  DrainDoor none;
  EXPECT_EQ(none.answer({"GET", "/drain", ""}, {}).status, 403);
  EXPECT_EQ(none.answer({"POST", "/drain", "fanin 1.2 3"}, {}).status, 403);
}

}  // namespace
}  // namespace fanin::reducer::metrics
