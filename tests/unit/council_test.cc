// Where questions for figures wait: who makes room for whom, and that nobody is told "agreed" who may not be.
#include "reducer/council.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "tests/support/question.h"

namespace fanin {
namespace {

using reducer::Council;
using reducer::GuestEnd;
using test::figures_ask;
using test::told;

tcp::Address address(int host) {
  return tcp::Address::numeric("10.0.0." + std::to_string(host), 4000).value();
}

class CouncilTest : public testing::Test {
 protected:
  Council& council(size_t questions = 100, size_t of_peer = 100, int patience_ms = 60000) {
    council_.emplace(*Epoll::make(),
                     Council::Limits{std::chrono::milliseconds(patience_ms), questions, of_peer},
                     [this](const tcp::Address&, GuestEnd how, std::string_view what) {
                       EXPECT_EQ(what.empty(), how == GuestEnd::kAnswered);
                       ended_.push_back(how);
                       if (how == GuestEnd::kAnswered && at_answer_) at_answer_(ended(how));
                     });
    return *council_;
  }
  Fd take(int host, uint8_t tag = 1, uint32_t nranks = 4) {
    int pair[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    council_->take(Fd(pair[0]), address(host),
                   test::RawWorker::hello(test::RawWorker::session(tag), 0, nranks));
    return Fd(pair[1]);
  }
  void say(const Fd& fd, const wire::FiguresAsk& ask = figures_ask()) {
    EXPECT_EQ(::send(fd.get(), &ask, sizeof ask, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof ask));
    council_->turn();
  }
  Fd ask(int host, uint8_t tag = 1, uint32_t nranks = 4) {
    Fd fd = take(host, tag, nranks);
    say(fd);
    return fd;
  }
  // Told that there is none, and closed.
  static bool told_none(const Fd& fd) {
    const auto answer = told(fd.get());
    return answer && answer->agreed == 0 && answer->measured == 0 && !told(fd.get());
  }
  static bool open(const Fd& fd) {
    char c;
    return ::recv(fd.get(), &c, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
  }
  long ended(GuestEnd how) const { return std::count(ended_.begin(), ended_.end(), how); }

  std::optional<Council> council_;
  std::vector<GuestEnd> ended_;
  std::function<void(long)> at_answer_;  // with how many are counted
};

TEST_F(CouncilTest, PastAPeersLimitItsOwnOldestMakesRoom) {
  council(100, 2);
  const Fd other = take(1), first = take(2), second = take(2), third = take(2);
  EXPECT_TRUE(told_none(first));
  EXPECT_TRUE(open(other) && open(second) && open(third));
  EXPECT_EQ(ended_, (std::vector{GuestEnd::kCrowdedOut}));
  EXPECT_EQ(council_->size(), 3u);
}

TEST_F(CouncilTest, PastTheLimitOfAllThePeerWithMostMakesRoom) {
  council(4, 100);
  const Fd oldest = take(1), first = take(2), second = take(2), third = take(3), another = take(4);
  EXPECT_TRUE(told_none(first));
  EXPECT_TRUE(open(oldest) && open(second) && open(third) && open(another));
  EXPECT_EQ(council_->size(), 4u);
  std::vector<Fd> flood;
  for (int i = 0; i < 20; ++i) flood.push_back(take(5));
  // Where all have as many, one of them has to go.
  EXPECT_EQ(open(oldest) + open(second) + open(third) + open(another), 3);
  EXPECT_EQ(council_->size(), 4u);
}

// Else the rank would have to fail its communicator.
TEST_F(CouncilTest, OneThatMakesRoomAndItsWholeCommunicatorAreTold) {
  council(3, 100);
  const Fd a = ask(1), b = ask(2), other = ask(3, 9);
  council_->make_room("is in the way");
  EXPECT_TRUE(told_none(other));  // the last of those who have as many
  const Fd more = take(1, 2), yet_more = take(3, 9);
  EXPECT_TRUE(told_none(a) && told_none(b));
  EXPECT_EQ(ended(GuestEnd::kCrowdedOut), 2);
  EXPECT_EQ(ended(GuestEnd::kAnswered), 1);
  EXPECT_EQ(council_->size(), 2u);
}

// What it has sent is read first, so that it is not lost in a reset and counts.
TEST_F(CouncilTest, WhatIsHereAlreadyIsHeardBeforeItMakesRoom) {
  council(100, 2);
  const Fd a = take(1, 1, 2), b = take(1, 1, 2);
  const wire::FiguresAsk question = figures_ask();
  for (const Fd* fd : {&a, &b})
    EXPECT_EQ(::send(fd->get(), &question, sizeof question, MSG_NOSIGNAL),
              static_cast<ssize_t>(sizeof question));
  const Fd c = take(1, 1, 2);
  EXPECT_TRUE(told_none(a));
  say(c);
  const auto answer = told(c.get());
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->agreed, 1u);
}

TEST_F(CouncilTest, ACommunicatorOfWhichOneGoesAwayIsTold) {
  for (const bool talks : {false, true}) {
    council();
    ended_.clear();
    Fd a = ask(1);
    const Fd b = ask(2);
    if (talks) {
      EXPECT_EQ(::send(a.get(), "?", 1, MSG_NOSIGNAL), 1);
    } else {
      a.reset();
    }
    council_->turn();
    EXPECT_TRUE(told_none(b));
    EXPECT_EQ(ended_, (std::vector{talks ? GuestEnd::kNotFanin : GuestEnd::kHungUp, GuestEnd::kAnswered}));
    // Those who come later are too few.
    const Fd c = ask(3), d = ask(4);
    EXPECT_TRUE(open(c) && open(d));
  }
}

// Whoever reads the counters after its answer finds itself in them.
TEST_F(CouncilTest, AnAnswerIsCountedBeforeItIsSent) {
  council();
  const Fd a = ask(1, 1, 2), b = take(2, 1, 2);
  at_answer_ = [&](long counted) { EXPECT_TRUE(open(counted == 1 ? a : b)); };
  say(b);
  at_answer_ = {};
  EXPECT_EQ(ended(GuestEnd::kAnswered), 2);
  EXPECT_TRUE(told(a.get()) && told(b.get()));
}

TEST_F(CouncilTest, TimeIsUpForWhoAskedAndWhoDidNot) {
  council(100, 100, 0);
  const Fd silent = take(1), asked = ask(2);
  council_->turn();
  EXPECT_TRUE(told_none(silent) && told_none(asked));
  EXPECT_EQ(ended(GuestEnd::kSilent), 1);
  EXPECT_EQ(ended(GuestEnd::kAnswered), 1);
  EXPECT_EQ(council_->size(), 0u);
  EXPECT_EQ(council_->due().poll_ms(), -1);
}

TEST_F(CouncilTest, InOneTurnTheLastRankAsksAndTheFirstGoes) {
  council();
  Fd a = take(1, 1, 2), b = take(2, 1, 2);
  const wire::FiguresAsk question = figures_ask();
  for (const Fd* fd : {&a, &b})
    EXPECT_EQ(::send(fd->get(), &question, sizeof question, MSG_NOSIGNAL),
              static_cast<ssize_t>(sizeof question));
  a.reset();
  council_->turn();
  const auto answer = told(b.get());
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->agreed, 1u);  // it has asked, and knows that it must not go on
  EXPECT_EQ(council_->size(), 0u);
}

// Against counting by hand.
TEST(PeerList, KnowsWhoHasMost) {
  reducer::PeerList<reducer::Visitor> list;
  std::vector<reducer::Visitor*> all;
  uint32_t random = 1;
  for (int step = 0; step < 2000; ++step) {
    random = random * 1664525 + 1013904223;
    const uint32_t pick = random >> 16;
    if (all.empty() || pick % 5 < (step < 1000 ? 3u : 2u)) {
      all.push_back(&list.add(Fd(), address(static_cast<int>(pick / 8 % 7)), Deadline::never()));
    } else {
      auto gone = all.begin() + static_cast<long>(pick / 8 % all.size());
      list.remove(**gone);
      all.erase(gone);
    }
    list.sweep();
    ASSERT_EQ(list.size(), all.size());
    if (all.empty()) continue;
    size_t most = 0;
    for (const auto* v : all) most = std::max(most, list.size_of(v->key));
    const auto& chosen = list.oldest_of_most();
    ASSERT_EQ(list.size_of(chosen.key), most);
    const auto same = [&](const auto* v) { return v->key == chosen.key; };
    ASSERT_EQ(static_cast<size_t>(std::count_if(all.begin(), all.end(), same)), most);
    ASSERT_EQ(*std::find_if(all.begin(), all.end(), same), &chosen);
    ASSERT_EQ(&list.oldest(), all.front());
  }
}

}  // namespace
}  // namespace fanin
