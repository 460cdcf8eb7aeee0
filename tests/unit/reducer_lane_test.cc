// A lane on its own: ranks that arrive when others of their session have come and gone already. The acceptor admits a
// rank before its connection reaches the lane, so this happens to every session that breaks while it forms.
#include <gtest/gtest.h>

#include "reducer/lane.h"
#include "tests/support/raw_worker.h"
#include "tests/support/tcp_pair.h"

namespace fanin::reducer {
namespace {

using test::RawWorker;

class LateRank : public testing::Test {
 protected:
  LateRank() : table_({1, 4096, 64 << 20, 100}) {
    config_.block_bytes = 4096;
    Result<std::unique_ptr<Lane>> lane = Lane::start(config_, table_, 0);
    EXPECT_TRUE(lane);
    lane_ = *std::move(lane);
    for (uint32_t rank = 0; rank < 2; ++rank) {
      std::tie(client_[rank], server_[rank]) = test::tcp_pair();
      admitted_[rank] = table_.admit(RawWorker::hello(RawWorker::session(1), rank, 2), "peer");
      EXPECT_TRUE(admitted_[rank].session);
    }
  }
  void arrive(uint32_t rank) {
    lane_->post(
        {std::make_unique<tcp::TcpStream>(std::move(server_[rank])), admitted_[rank].session, 0, rank});
  }
  void say(uint32_t rank, const wire::SliceHeader& h) {
    ASSERT_EQ(::send(client_[rank].get(), &h, sizeof h, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof h));
  }
  void wait_until_gone(uint64_t connections) {
    Deadline limit = Deadline::after(std::chrono::seconds(10));
    while (table_.counts().connections != connections && !limit.passed()) std::this_thread::yield();
    ASSERT_EQ(table_.counts().connections, connections);
  }
  wire::ResultHeader next(uint32_t rank) {
    wire::ResultHeader h{};
    pollfd p{client_[rank].get(), POLLIN, 0};
    EXPECT_EQ(::poll(&p, 1, 10000), 1) << "the late rank hears nothing";
    EXPECT_EQ(::recv(client_[rank].get(), &h, sizeof h, MSG_WAITALL | MSG_DONTWAIT),
              static_cast<ssize_t>(sizeof h));
    return h;
  }

  ReducerConfig config_;
  SessionTable table_;
  std::unique_ptr<Lane> lane_;
  Fd client_[2], server_[2];
  Admission admitted_[2];
};

TEST_F(LateRank, HearsThatAnotherWasLostBeforeItCame) {
  arrive(0);
  client_[0].reset();
  wait_until_gone(1);
  arrive(1);
  wire::ResultHeader h = next(1);
  EXPECT_EQ(h.type, wire::FrameType::kAbort);
  EXPECT_EQ(h.message & 0xffffffff, static_cast<uint64_t>(wire::AbortCode::kRankLost));
  EXPECT_EQ(h.message >> 32, 0u);
}

TEST_F(LateRank, HearsThatAnotherLeftBeforeItCame) {
  arrive(0);
  say(0, RawWorker::goodbye());
  wait_until_gone(1);
  arrive(1);
  say(1, RawWorker::all_reduce(0, 4096));
  wire::ResultHeader h = next(1);
  EXPECT_EQ(h.type, wire::FrameType::kAbort);
  EXPECT_EQ(h.message & 0xffffffff, static_cast<uint64_t>(wire::AbortCode::kRankLeft));
  EXPECT_EQ(h.message >> 32, 0u);
}

// A worker that hears of a loss on one lane closes all its lanes. Where that end is seen before the loss itself, it must
// not be taken for the cause.
TEST(LaneBlame, ALaneThatSeesTheConsequenceFirstNamesTheCause) {
  ReducerConfig config;
  config.block_bytes = 4096;
  SessionTable table({2, 4096, 64 << 20, 100});
  Result<std::unique_ptr<Lane>> lane = Lane::start(config, table, 1);
  ASSERT_TRUE(lane);
  Fd client[3], server[3];
  Session* session = nullptr;
  for (uint32_t rank = 0; rank < 3; ++rank) {
    std::tie(client[rank], server[rank]) = test::tcp_pair();
    wire::Hello hello = RawWorker::hello(RawWorker::session(1), rank, 3);
    hello.lane = 1;
    session = table.admit(hello, "peer").session;
    ASSERT_TRUE(session);
    (*lane)->post({std::make_unique<tcp::TcpStream>(std::move(server[rank])), session, 1, rank});
  }
  // Rank 1 was lost on lane 0; rank 0 heard of it and closes, with this lane none the wiser.
  table.mark_broken(session, {wire::AbortCode::kRankLost, 1, "rank 1 (10.0.0.7) is gone: reset"});
  client[0].reset();
  wire::ResultHeader h{};
  pollfd p{client[2].get(), POLLIN, 0};
  ASSERT_EQ(::poll(&p, 1, 10000), 1);
  ASSERT_EQ(::recv(client[2].get(), &h, sizeof h, MSG_WAITALL), static_cast<ssize_t>(sizeof h));
  EXPECT_EQ(h.type, wire::FrameType::kAbort);
  EXPECT_EQ(h.message >> 32, 1u);
}

}  // namespace
}  // namespace fanin::reducer
