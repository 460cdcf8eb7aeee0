// In which order a lane-session sends its results: first to the rank that was waited for, and to everyone else too.
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "reducer/lane_session.h"
#include "reducer/member.h"
#include "tests/support/raw_worker.h"
#include "tests/support/reducer_fixture.h"
#include "transport/fd.h"

namespace fanin::reducer {
namespace {

constexpr uint32_t kBlock = 64 << 10, kWindowBlocks = 4;
constexpr size_t kHeader = sizeof(wire::ResultHeader);

// A rank's connection: what it has sent, how much has been sent to it, and where each write is noted.
struct Wire {
  explicit Wire(uint32_t rank) : rank(rank), event(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  const uint32_t rank;
  Fd event;  // readable while there is input
  std::string input;
  size_t got = 0;          // bytes of results
  size_t room = SIZE_MAX;  // bytes more that it takes
  std::vector<uint32_t>* writes = nullptr;
};

class WireStream final : public Stream {
 public:
  explicit WireStream(Wire& w) : w_(w) {}
  IoResult readv(const iovec* iov, int n) override {
    size_t moved = 0;
    for (int i = 0; i < n && moved < w_.input.size(); ++i) {
      const size_t take = std::min(iov[i].iov_len, w_.input.size() - moved);
      memcpy(iov[i].iov_base, w_.input.data() + moved, take);
      moved += take;
    }
    w_.input.erase(0, moved);
    return moved > 0 ? IoResult{IoResult::Kind::kBytes, moved} : IoResult{IoResult::Kind::kWouldBlock};
  }
  IoResult writev(const iovec* iov, int n) override {
    size_t moved = 0;
    for (int i = 0; i < n; ++i) moved += iov[i].iov_len;
    moved = std::min(moved, w_.room);
    if (moved == 0) return {IoResult::Kind::kWouldBlock};
    w_.room -= moved;
    w_.got += moved;
    w_.writes->push_back(w_.rank);
    return {IoResult::Kind::kBytes, moved};
  }
  int fd() const override { return w_.event.get(); }
  const std::string& peer() const override { return peer_; }

 private:
  Wire& w_;
  const std::string peer_ = "nowhere:0";
};

// A lane-session without a lane: the test says whose input is read, and when results go.
class FlushOrder : public ::testing::Test {
 protected:
  void open(uint32_t nranks) {
    for (uint32_t r = 0; r < nranks; ++r) {
      wire::Hello hello =
          test::RawWorker::hello(test::RawWorker::session(1), r, nranks, 0, kWindowBlocks * kBlock);
      const Admission a = table_.admit(hello, "nowhere:0");
      ASSERT_NE(a.session, nullptr) << a.text;
      if (!session_) {
        auto made = LaneSession::make(lane_, a.session, {});
        ASSERT_TRUE(made);
        session_ = std::move(*made);
      }
      wires_.push_back(std::make_unique<Wire>(r));
      wires_[r]->writes = &writes_;
      session_->join(std::make_unique<WireStream>(*wires_[r]), r);
    }
  }
  void TearDown() override {
    session_.reset();
    lane_.closed.clear();
  }
  // Rank's next bytes of its stream arrive, and are read.
  void sends(uint32_t rank, const std::string& bytes) {
    Wire& w = *wires_[rank];
    w.input += bytes;
    uint64_t n = 1;
    ASSERT_EQ(::write(w.event.get(), &n, sizeof n), static_cast<ssize_t>(sizeof n));
    epoll_event events[8];
    for (const epoll_event& e : lane_.epoll.wait(events, 0))
      if (e.events & EPOLLIN) static_cast<Member*>(e.data.ptr)->on_event(EPOLLIN);
    ASSERT_EQ(::read(w.event.get(), &n, sizeof n), static_cast<ssize_t>(sizeof n));
  }
  static std::string head(uint64_t message, uint64_t bytes) {
    const wire::SliceHeader h = test::RawWorker::all_reduce(message, bytes);
    return std::string(reinterpret_cast<const char*>(&h), sizeof h);
  }
  static std::string whole(uint64_t message) { return head(message, kBlock) + std::string(kBlock, '\0'); }
  // Since the last call.
  std::vector<uint32_t> writes() { return std::exchange(writes_, {}); }
  static std::vector<uint32_t> from(uint32_t first, uint32_t nranks) {
    std::vector<uint32_t> out(nranks);
    for (uint32_t i = 0; i < nranks; ++i) out[i] = (first + i) % nranks;
    return out;
  }

  ReducerConfig config_ = test::reducer_config(1, kBlock);
  SessionTable table_{{.lanes = 1, .block_bytes = kBlock, .memory = 64 << 20, .max_connections = 64}};
  LaneCounters counters_;
  LaneContext lane_{config_, table_, 0, *Epoll::make(), counters_};
  std::vector<std::unique_ptr<Wire>> wires_;
  std::vector<uint32_t> writes_;
  std::unique_ptr<LaneSession> session_;
};

TEST_F(FlushOrder, ABlockGoesFirstToTheRankThatCompletedIt) {
  open(4);
  for (uint32_t message = 0; message < 8; ++message) {
    const uint32_t last = message * 3 % 4;
    for (uint32_t r : from(last + 1, 4)) sends(r, whole(message));
    EXPECT_TRUE(writes_.empty()) << "results go when the lane says so";
    session_->pump();
    EXPECT_EQ(writes(), from(last, 4)) << "message " << message;
  }
}

TEST_F(FlushOrder, APartGoesFirstToTheRankThatHadSentLeast) {
  open(3);
  for (uint32_t r = 0; r < 3; ++r) sends(r, head(0, kBlock) + std::string(r == 1 ? 2048 : 32 << 10, '\0'));
  session_->pump_part();
  EXPECT_EQ(writes(), from(1, 3));
  session_->pump_part();
  EXPECT_TRUE(writes().empty()) << "nothing new is common to all";
  sends(1, std::string(kBlock - 2048, '\0'));
  sends(0, std::string(kBlock - (32 << 10) - 8192, '\0'));
  session_->pump_part();  // now rank 2 has least
  EXPECT_EQ(writes(), from(2, 3));
}

// Being served last is no more than that: each rank has all there is once the session has been pumped.
TEST_F(FlushOrder, ARankThatIsNeverLastGetsAllResultsToo) {
  open(5);
  constexpr uint64_t kMessages = 50;
  for (uint64_t message = 0; message < kMessages; ++message) {
    for (uint32_t r : {0, 1, 2, 4, 3}) sends(r, whole(message));
    session_->pump();
    for (const auto& w : wires_) EXPECT_EQ(w->got, (message + 1) * (kHeader + kBlock)) << "rank " << w->rank;
  }
}

TEST_F(FlushOrder, TheRankThatWasWaitedForTakesNothingAndKeepsNobody) {
  open(3);
  wires_[2]->room = 1000;
  for (uint64_t message = 0; message < kWindowBlocks; ++message) {
    for (uint32_t r = 0; r < 3; ++r) sends(r, whole(message));
    session_->pump();
  }
  EXPECT_EQ(wires_[2]->got, 1000u);
  for (uint32_t r = 0; r < 2; ++r)
    EXPECT_EQ(wires_[r]->got, kWindowBlocks * (kHeader + kBlock)) << "rank " << r;
}

// The rank to begin with has said goodbye behind its last bytes: the others get their results all the same.
TEST_F(FlushOrder, TheRankThatWasWaitedForHasLeft) {
  open(3);
  const wire::SliceHeader bye = test::RawWorker::goodbye();
  for (uint32_t r : {0, 1}) sends(r, whole(0));
  sends(2, whole(0) + std::string(reinterpret_cast<const char*>(&bye), sizeof bye));
  session_->pump();
  EXPECT_EQ(writes(), (std::vector<uint32_t>{0, 1}));
  for (uint32_t r = 0; r < 2; ++r) EXPECT_EQ(wires_[r]->got, kHeader + kBlock) << "rank " << r;
}

}  // namespace
}  // namespace fanin::reducer
