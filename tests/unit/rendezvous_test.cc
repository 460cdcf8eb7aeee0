// One verdict or none: ranks as threads, with ranks and rank 0 that vanish, fall silent or lie at every step.
#include "plugin/collnet/rendezvous.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <cstring>
#include <functional>
#include <thread>

#include "plugin/collnet/frame_socket.h"
#include "tests/support/descriptors.h"
#include "tests/support/log_capture.h"
#include "tests/support/no_descriptors.h"
#include "tests/support/tcp_pair.h"
#include "transport/tcp/socket.h"

namespace fanin::plugin::collnet {
namespace {

using std::chrono::milliseconds;

wire::ReducerId id(uint8_t n) {
  wire::ReducerId i{};
  i[0] = n;
  return i;
}

Report report(uint32_t rank, uint32_t nranks, std::initializer_list<uint8_t> reached,
              std::initializer_list<uint8_t> missed = {}) {
  Report r;
  r.session[3] = 77;
  r.rank = rank;
  r.nranks = nranks;
  r.host = "host" + std::to_string(rank);
  r.configured = true;
  r.min_slice = 1000 + rank;
  for (uint8_t n : reached) r.reached.push_back({id(n), "r" + std::to_string(n) + ":4000"});
  for (uint8_t n : missed) r.missed.push_back({"r" + std::to_string(n) + ":4000", "connection refused"});
  return r;
}

// The beginning of a frame.
std::string header(RendezvousType type, uint32_t body_bytes, uint16_t version = RendezvousHeader::kVersion) {
  const RendezvousHeader h{RendezvousHeader::kMagic, version, type, body_bytes};
  return std::string(reinterpret_cast<const char*>(&h), sizeof h);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// ---- decide()

TEST(Verdict, WhatAllReachedInRankZerosOrder) {
  const Report r[] = {report(0, 3, {2, 1, 3}), report(1, 3, {1, 2, 3}), report(2, 3, {3, 2, 1})};
  const Verdict v = decide(r);
  EXPECT_TRUE(v.use);
  EXPECT_EQ(v.reducers, (std::vector{id(2), id(1), id(3)}));
  EXPECT_EQ(v.reason, "");
  EXPECT_EQ(v.min_slice, 1000u);
  EXPECT_FALSE(v.strict);
}

TEST(Verdict, LeavesOutWhatOneRankMissed) {
  const Report r[] = {report(0, 2, {1, 2}), report(1, 2, {1}, {2})};
  const Verdict v = decide(r);
  EXPECT_TRUE(v.use);
  EXPECT_EQ(v.reducers, std::vector{id(1)});
  EXPECT_EQ(v.reason, "r2:4000: connection refused from rank 1 (host1)");
}

TEST(Verdict, NoneWhenNothingIsCommon) {
  const Report r[] = {report(0, 2, {1}, {2}), report(1, 2, {2}, {1})};
  const Verdict v = decide(r);
  EXPECT_FALSE(v.use);
  EXPECT_TRUE(has(v.reason, "r1:4000: connection refused from rank 1 (host1)")) << v.reason;
  EXPECT_TRUE(has(v.reason, "r2:4000: connection refused from rank 0 (host0)")) << v.reason;
}

TEST(Verdict, NamesRanksWithoutConfigurationAndWithABadOne) {
  Report r[] = {report(0, 3, {1}), report(1, 3, {}), report(2, 3, {})};
  r[1].configured = false;
  r[2].config_error = "'x' is not HOST:PORT";
  r[2].strict = true;
  const Verdict v = decide(r);
  EXPECT_FALSE(v.use);
  EXPECT_TRUE(v.strict);
  EXPECT_EQ(v.reason, "'x' is not HOST:PORT on rank 2 (host2); FANIN_REDUCERS is not set on rank 1 (host1)");
}

// What the slowest rank's way to a reducer carries; nothing where one of them is unknown.
TEST(Verdict, WeightsReducersByTheirNics) {
  Report r[] = {report(0, 2, {1, 2, 3}), report(1, 2, {3, 1})};
  EXPECT_TRUE(decide(r).weights.empty());
  for (Report& one : r)
    for (Report::Reached& x : one.reached) x.mbps = x.id == id(1) ? 100000 : 25000;
  EXPECT_EQ(decide(r).weights, (std::vector<uint32_t>{100000, 25000}));
  r[1].reached[1].mbps = 10000;  // reducer 1, over another NIC of it
  EXPECT_EQ(decide(r).weights, (std::vector<uint32_t>{10000, 25000}));
  r[0].reached[2].mbps = 0;
  EXPECT_TRUE(decide(r).weights.empty());
}

TEST(Verdict, NothingConfiguredAnywhere) {
  Report r[] = {report(0, 2, {}), report(1, 2, {})};
  r[0].configured = r[1].configured = false;
  const Verdict v = decide(r);
  EXPECT_FALSE(v.use);
  EXPECT_EQ(v.reason, "FANIN_REDUCERS is not set (all 2 ranks)");
}

TEST(Verdict, AThousandRanksStillMakeOneLine) {
  std::vector<Report> r;
  for (uint32_t i = 0; i < 1000; ++i) r.push_back(report(i, 1000, {}, {1, 2}));
  const Verdict v = decide(r);
  EXPECT_FALSE(v.use);
  EXPECT_EQ(v.reason,
            "r1:4000: connection refused (all 1000 ranks); r2:4000: connection refused (all 1000 ranks)");
}

TEST(Verdict, ManyCausesFromManyRanksStillMakeOneLine) {
  std::vector<Report> r;
  for (uint32_t i = 0; i < 1000; ++i) r.push_back(report(i, 1000, {}, {1, 2, 3, 4, 5, 6}));
  r[500].missed.clear();
  EXPECT_EQ(
      decide(r).reason,
      "r1:4000: connection refused from rank 0 (host0), rank 1 (host1) and 997 more; "
      "r2:4000: connection refused from rank 0 (host0), rank 1 (host1) and 997 more; "
      "r3:4000: connection refused from rank 0 (host0), rank 1 (host1) and 997 more; "
      "r4:4000: connection refused from rank 0 (host0), rank 1 (host1) and 997 more; and 2 more causes");
}

// ---- the wire

TEST(RendezvousWire, RoundTripAndEveryTruncationRefused) {
  Report r = report(2, 5, {1, 2}, {3});
  r.strict = true;
  r.config_error = "bad";
  const std::string body = encode_report(r);
  std::optional<Report> back = decode_report(body);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->session, r.session);
  EXPECT_EQ(back->rank, 2u);
  EXPECT_EQ(back->nranks, 5u);
  EXPECT_EQ(back->host, "host2");
  EXPECT_TRUE(back->strict && back->configured);
  EXPECT_EQ(back->config_error, "bad");
  EXPECT_EQ(back->reached.at(1).id, id(2));
  EXPECT_EQ(back->missed.at(0).why, "connection refused");
  for (size_t n = 0; n < body.size(); ++n) EXPECT_FALSE(decode_report({body.data(), n})) << n;
  EXPECT_FALSE(decode_report(body + "x"));

  Verdict v;
  v.use = true;
  v.reducers = {id(1), id(2)};
  v.weights = {100000, 25000};
  v.reason = "because";
  v.min_slice = 5;
  const std::string verdict = encode_verdict(v);
  ASSERT_TRUE(decode_verdict(verdict));
  EXPECT_EQ(decode_verdict(verdict)->reason, "because");
  EXPECT_EQ(decode_verdict(verdict)->weights, v.weights);
  for (size_t n = 0; n < verdict.size(); ++n) EXPECT_FALSE(decode_verdict({verdict.data(), n})) << n;
  v.weights = {100000, 0};
  EXPECT_FALSE(decode_verdict(encode_verdict(v))) << "a reducer that gets nothing";
  v.reducers.clear();
  v.weights.clear();
  EXPECT_FALSE(decode_verdict(encode_verdict(v))) << "use without reducers";
}

// They go into logs.
TEST(RendezvousWire, WordsOfOthersAreOneLine) {
  Report r = report(1, 2, {1}, {2});
  r.host = "host\n1";
  r.config_error = "bad\x1b[2J";
  r.reached[0].name = "r\r1";
  r.missed[0] = {"r\t2", "no\nanswer"};
  const std::optional<Report> back = decode_report(encode_report(r));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->host, "host?1");
  EXPECT_EQ(back->config_error, "bad?[2J");
  EXPECT_EQ(back->reached[0].name, "r?1");
  EXPECT_EQ(back->missed[0].name + back->missed[0].why, "r?2no?answer");
  Verdict v;
  v.reason = "rank 3\nWARN all is well";
  EXPECT_EQ(decode_verdict(encode_verdict(v))->reason, "rank 3?WARN all is well");
}

TEST(RendezvousWire, ACauseIsClippedOnceForAll) {
  EXPECT_EQ(clipped_why("connection refused"), "connection refused");
  for (size_t n : {kMaxWhy, kMaxWhy + 1, 3 * kMaxWhy})
    for (const char* unit : {"x", "é", "…"}) {
      std::string why = "y";
      while (why.size() < n) why += unit;
      Report r = report(1, 2, {1}, {2});
      r.missed[0].why = clipped_why(why);
      EXPECT_LE(r.missed[0].why.size(), kMaxWhy);
      const std::optional<Report> back = decode_report(encode_report(r));
      ASSERT_TRUE(back);
      EXPECT_EQ(back->missed[0].why, r.missed[0].why);
    }
}

// ---- lead and follow

class Rendezvous : public testing::Test {
 protected:
  Rendezvous() {
    Result<Fd> fd = tcp::listen_on(tcp::Address::loopback(0));
    EXPECT_TRUE(fd);
    listener_ = std::move(*fd);
    root_ = *tcp::local_address(listener_.get());
  }
  // What the ranks' handles say.
  static std::vector<tcp::Address> addresses(uint32_t nranks) {
    std::vector<tcp::Address> all;
    for (uint32_t r = 0; r < nranks; ++r)
      all.push_back(*tcp::Address::numeric("127.0.0." + std::to_string(1 + r), 4000));
    return all;
  }
  void start(uint32_t nranks, milliseconds total = milliseconds(4000)) {
    total_ = total;
    for (uint32_t r = 0; r < nranks; ++r) results_.emplace_back(Error(Errc::kInternal, "not run"));
  }
  void lead(const Report& r) {
    spawn([this, r] {
      results_[0] = lead_rendezvous(listener_.get(), r, addresses(r.nranks), Deadlines::within(total_));
    });
  }
  // A rank that connected to rank 0's listener.
  Fd accepted() {
    for (;;)
      if (Fd fd = std::move(*tcp::accept_from(listener_.get())); fd) return fd;
  }
  void follow(const Report& r) {
    spawn([this, r] {
      results_[r.rank] = follow_rendezvous(root_, std::nullopt, r, Deadlines::within(total_));
    });
  }
  // A rank that does as the test says.
  void actor(std::function<void(FrameSocket&)> body) {
    spawn([this, body] {
      FrameSocket s = connect();
      body(s);
    });
  }
  FrameSocket connect(const std::optional<tcp::Address>& from = std::nullopt) {
    Result<Fd> fd = tcp::start_connect(root_, from);
    EXPECT_TRUE(fd);
    pollfd p{fd->get(), POLLOUT, 0};
    ::poll(&p, 1, 2000);
    return FrameSocket(std::move(*fd));
  }
  void spawn(std::function<void()> body) { threads_.emplace_back(std::move(body)); }
  void join() {
    for (std::thread& t : threads_) t.join();
    threads_.clear();
  }
  Deadline soon() const { return Deadline::after(total_); }

  void expect_none(uint32_t rank, const std::string& reason) {
    ASSERT_TRUE(results_[rank]) << rank << ": " << results_[rank].error().text();
    EXPECT_FALSE(results_[rank]->use) << rank;
    EXPECT_TRUE(has(results_[rank]->reason, reason)) << rank << ": " << results_[rank]->reason;
  }
  void expect_use(uint32_t rank, std::vector<wire::ReducerId> reducers) {
    ASSERT_TRUE(results_[rank]) << rank << ": " << results_[rank].error().text();
    EXPECT_TRUE(results_[rank]->use) << rank << ": " << results_[rank]->reason;
    EXPECT_EQ(results_[rank]->reducers, reducers);
    EXPECT_EQ(results_[rank]->min_slice, 1000u);
  }

  Fd listener_;
  tcp::Address root_;
  milliseconds total_{4000};
  std::vector<Result<Verdict>> results_;
  std::vector<std::thread> threads_;
};

TEST_F(Rendezvous, AllAgree) {
  start(5);
  for (uint32_t r = 1; r < 5; ++r) follow(report(r, 5, {2, 1}));
  lead(report(0, 5, {1, 2}));
  join();
  for (uint32_t r = 0; r < 5; ++r) expect_use(r, {id(1), id(2)});
}

// All at once, as when a job starts; by hand, so that it takes no thread per rank.
TEST_F(Rendezvous, HundredsOfRanks) {
  constexpr uint32_t kRanks = 300;
  start(kRanks);
  lead(report(0, kRanks, {1}));
  std::vector<FrameSocket> ranks;
  for (uint32_t r = 1; r < kRanks; ++r) ranks.push_back(connect());
  for (uint32_t r = kRanks - 1; r >= 1; --r)
    ASSERT_TRUE(ranks[r - 1].send(RendezvousType::kReport, encode_report(report(r, kRanks, {1})), soon()));
  for (FrameSocket& s : ranks) {
    auto f = s.receive(soon());
    ASSERT_TRUE(f) << f.error().text();
    ASSERT_EQ(f->type, RendezvousType::kPropose);
    ASSERT_TRUE(s.send(RendezvousType::kAck, {}, soon()));
  }
  for (FrameSocket& s : ranks) {
    auto f = s.receive(soon());
    ASSERT_TRUE(f) << f.error().text();
    EXPECT_EQ(f->type, RendezvousType::kCommit);
  }
  join();
  expect_use(0, {id(1)});
}

TEST_F(Rendezvous, AloneNeedsNobody) {
  start(1);
  lead(report(0, 1, {1}));
  join();
  expect_use(0, {id(1)});
}

TEST_F(Rendezvous, OneRankReachedFewer) {
  start(3);
  lead(report(0, 3, {1, 2}));
  follow(report(1, 3, {2}, {1}));
  follow(report(2, 3, {1, 2}));
  join();
  for (uint32_t r = 0; r < 3; ++r) {
    expect_use(r, {id(2)});
    EXPECT_TRUE(has(results_[r]->reason, "r1:4000: connection refused from rank 1 (host1)"));
  }
}

TEST_F(Rendezvous, OneRankReachedNone) {
  start(3);
  lead(report(0, 3, {1}));
  follow(report(1, 3, {}, {1}));
  follow(report(2, 3, {1}));
  join();
  for (uint32_t r = 0; r < 3; ++r) expect_none(r, "r1:4000: connection refused from rank 1 (host1)");
}

TEST_F(Rendezvous, StrictnessOfOneRankReachesAll) {
  start(2);
  Report strict = report(1, 2, {}, {1});
  strict.strict = true;
  lead(report(0, 2, {1}));
  follow(strict);
  join();
  for (auto& r : results_) EXPECT_TRUE(r && r->strict && !r->use);
}

TEST_F(Rendezvous, MissingRank) {
  start(3, milliseconds(2000));
  lead(report(0, 3, {1}));
  follow(report(1, 3, {1}));
  join();
  expect_none(0, "rank 2 (127.0.0.3) did not report to rank 0 in time");
  expect_none(1, "rank 2 (127.0.0.3) did not report to rank 0 in time");
}

// Before that, who is waited for; however many there are it is one line.
TEST_F(Rendezvous, WhoIsWaitedForIsSaid) {
  test::LogCapture log;
  start(16, milliseconds(3000));
  lead(report(0, 16, {1}));
  join();
  const std::string who = "ranks 1 (127.0.0.2), 2 (127.0.0.3), 3 (127.0.0.4), 4 (127.0.0.5) and 11 more";
  EXPECT_EQ(log.count(NCCL_LOG_INFO, "waiting for 15 of 16 ranks: " + who), 1u) << log.all();
  expect_none(0, who + " did not report to rank 0 in time");
}

TEST_F(Rendezvous, RankZeroMissing) {
  start(3, milliseconds(300));
  follow(report(1, 3, {1}));
  follow(report(2, 3, {1}));
  join();
  expect_none(1, "no verdict from rank 0");
  expect_none(2, "no verdict from rank 0");
}

TEST_F(Rendezvous, RankZeroUnreachable) {
  listener_.reset();
  start(2, milliseconds(300));
  follow(report(1, 2, {1}));
  join();
  expect_none(1, "cannot reach rank 0");
}

TEST_F(Rendezvous, RankGoneAfterItsReport) {
  start(3);
  lead(report(0, 3, {1}));
  actor([&](FrameSocket& s) {
    (void)!s.send(RendezvousType::kReport, encode_report(report(2, 3, {1})), soon());
  });
  // The other rank comes only after that, so that rank 0 is still collecting.
  threads_.back().join();
  threads_.pop_back();
  follow(report(1, 3, {1}));
  join();
  // Whether it is seen to be gone before the last report or only when it does not confirm, depends on what comes first.
  expect_none(0, "rank 2 (host2, 127.0.0.3)");
  expect_none(1, "rank 2 (host2, 127.0.0.3)");
}

TEST_F(Rendezvous, RankGoneBeforeItsAck) {
  start(3);
  lead(report(0, 3, {1}));
  follow(report(1, 3, {1}));
  actor([&](FrameSocket& s) {
    ASSERT_TRUE(s.send(RendezvousType::kReport, encode_report(report(2, 3, {1})), soon()));
    auto f = s.receive(soon());
    ASSERT_TRUE(f);
    EXPECT_EQ(f->type, RendezvousType::kPropose);
  });
  join();
  expect_none(0, "rank 2 (host2, 127.0.0.3) did not confirm");
  expect_none(1, "rank 2 (host2, 127.0.0.3) did not confirm");
}

TEST_F(Rendezvous, RankSilentInsteadOfAck) {
  start(3, milliseconds(800));
  lead(report(0, 3, {1}));
  follow(report(1, 3, {1}));
  actor([&](FrameSocket& s) {
    ASSERT_TRUE(s.send(RendezvousType::kReport, encode_report(report(2, 3, {1})), soon()));
    ASSERT_TRUE(s.receive(soon()));
    auto f = s.receive(Deadline::after(milliseconds(4000)));
    ASSERT_TRUE(f);
    EXPECT_EQ(f->type, RendezvousType::kNone);
  });
  join();
  expect_none(0, "rank 2 (host2, 127.0.0.3) did not confirm the choice of reducers in time");
  expect_none(1, "rank 2 (host2, 127.0.0.3) did not confirm the choice of reducers in time");
}

TEST_F(Rendezvous, ManyRanksSilentInsteadOfAckAreOneLine) {
  constexpr uint32_t kRanks = 9;
  start(kRanks, milliseconds(2000));
  lead(report(0, kRanks, {1}));
  std::vector<FrameSocket> ranks;
  for (uint32_t r = 1; r < kRanks; ++r) {
    ranks.push_back(connect());
    ASSERT_TRUE(ranks.back().send(RendezvousType::kReport, encode_report(report(r, kRanks, {1})), soon()));
  }
  for (FrameSocket& s : ranks) ASSERT_TRUE(s.receive(soon()));
  ASSERT_TRUE(ranks[1].send(RendezvousType::kAck, {}, soon()));
  join();
  expect_none(
      0,
      "ranks 1 (host1, 127.0.0.2), 3 (host3, 127.0.0.4), 4 (host4, 127.0.0.5), 5 (host5, 127.0.0.6) and 3 "
      "more did not confirm");
}

TEST_F(Rendezvous, RankSendsNonsenseInsteadOfAck) {
  start(3);
  lead(report(0, 3, {1}));
  follow(report(1, 3, {1}));
  actor([&](FrameSocket& s) {
    ASSERT_TRUE(s.send(RendezvousType::kReport, encode_report(report(2, 3, {1})), soon()));
    ASSERT_TRUE(s.receive(soon()));
    ASSERT_TRUE(s.send(RendezvousType::kCommit, {}, soon()));
    (void)!s.receive(soon());
  });
  join();
  expect_none(0, "broke the protocol");
  expect_none(1, "broke the protocol");
}

TEST_F(Rendezvous, RankGoneAfterItsAckCannotSplitTheOthers) {
  for (int round = 0; round < 20; ++round) {
    start(4);
    lead(report(0, 4, {1}));
    follow(report(1, 4, {1}));
    follow(report(3, 4, {1}));
    actor([&](FrameSocket& s) {
      ASSERT_TRUE(s.send(RendezvousType::kReport, encode_report(report(2, 4, {1})), soon()));
      ASSERT_TRUE(s.receive(soon()));
      ASSERT_TRUE(s.send(RendezvousType::kAck, {}, soon()));
    });
    join();
    int used = 0, fell_back = 0;
    for (uint32_t r : {0, 1, 3}) {
      if (!results_[r]) continue;  // an error: creation fails, nobody hangs
      used += results_[r]->use;
      fell_back += !results_[r]->use;
    }
    EXPECT_TRUE(used == 0 || fell_back == 0) << used << " use reducers, " << fell_back << " fell back";
    results_.clear();
  }
}

TEST_F(Rendezvous, RankZeroGoneBeforeItsProposal) {
  start(2);
  follow(report(1, 2, {1}));
  Fd conn = accepted();
  conn.reset();
  join();
  expect_none(1, "");
}

TEST_F(Rendezvous, RankZeroGoneAfterTheAckIsAnError) {
  start(2);
  follow(report(1, 2, {1}));
  Fd conn = accepted();
  {
    FrameSocket s(std::move(conn));
    ASSERT_TRUE(s.receive(soon()));
    Verdict v;
    v.use = true;
    v.reducers = {id(1)};
    ASSERT_TRUE(s.send(RendezvousType::kPropose, encode_verdict(v), soon()));
    auto f = s.receive(soon());
    ASSERT_TRUE(f);
    EXPECT_EQ(f->type, RendezvousType::kAck);
  }
  join();
  ASSERT_FALSE(results_[1]);
  EXPECT_EQ(results_[1].error().code(), Errc::kRemote);
  EXPECT_TRUE(has(results_[1].error().text(), "lost rank 0")) << results_[1].error().text();
}

TEST_F(Rendezvous, RankZeroSilentAfterTheAckIsAnErrorInTime) {
  start(2, milliseconds(2000));
  follow(report(1, 2, {1}));
  Fd conn = accepted();
  FrameSocket s(std::move(conn));
  ASSERT_TRUE(s.receive(soon()));
  Verdict v;
  v.use = true;
  v.reducers = {id(1)};
  ASSERT_TRUE(s.send(RendezvousType::kPropose, encode_verdict(v), soon()));
  join();
  EXPECT_FALSE(results_[1]);
}

TEST_F(Rendezvous, StrangersAreDroppedAndDisturbNothing) {
  start(3);
  std::vector<FrameSocket> kept;
  auto stranger = [&](const std::string& bytes, const std::optional<tcp::Address>& from = std::nullopt) {
    kept.push_back(connect(from));
    ASSERT_EQ(::send(kept.back().fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  };
  stranger("GET /metrics HTTP/1.1\r\n\r\n");
  stranger("G");
  kept.push_back(connect());  // silent
  Report other = report(1, 3, {9});
  other.session[0] = 1;
  stranger(encode(RendezvousType::kReport, encode_report(other)));              // another session
  stranger(encode(RendezvousType::kReport, encode_report(report(7, 3, {9}))));  // no such rank
  stranger(encode(RendezvousType::kReport, encode_report(report(0, 3, {9}))));  // rank 0 itself
  stranger(encode(RendezvousType::kReport, encode_report(report(1, 4, {9}))));  // another number of ranks
  stranger(encode(RendezvousType::kAck));
  stranger(encode(RendezvousType::kReport, "short"));
  stranger(header(RendezvousType::kReport, 0x7fffffff));  // 2 GB announced
  // Other versions, in great number, from where a rank is.
  for (uint16_t i = 0; i < 300; ++i)
    stranger(header(RendezvousType::kReport, 100, static_cast<uint16_t>(1000 + i)), addresses(2)[1]);
  lead(report(0, 3, {1}));
  follow(report(1, 3, {1}));
  follow(report(2, 3, {1}));
  join();
  for (uint32_t r = 0; r < 3; ++r) expect_use(r, {id(1)});
}

// Ranks of another version are named with it, on rank 0 and so on all ranks, once they have had their time: anybody can say a
// version. They themselves are told at once.
TEST_F(Rendezvous, ARankOfAnotherVersionIsNamed) {
  for (const bool newer : {false, true}) {
    start(4, milliseconds(1500));
    lead(report(0, 4, {1}));
    follow(report(1, 4, {1}));
    for (const char* from : {"127.0.0.3", "127.0.0.4", "127.0.0.99"})
      spawn([&, from] {
        FrameSocket s = connect(tcp::Address::numeric(from, 0));
        const std::string said = header(RendezvousType::kReport, 500, newer ? 77 : 2) + std::string(500, 'x');
        ASSERT_EQ(::send(s.fd(), said.data(), said.size(), MSG_NOSIGNAL), static_cast<ssize_t>(said.size()));
        auto f = s.receive(Deadline::after(milliseconds(20000)));
        ASSERT_TRUE(f) << f.error().text();  // whatever it holds: its header has rank 0's version
        EXPECT_EQ(f->type, RendezvousType::kNone);
      });
    join();
    const std::string why =
        std::string(
            "ranks 2 (127.0.0.3), 3 (127.0.0.4) did not report to rank 0 in time; 127.0.0.3 runs another "
            "version of fanin (version ") +
        (newer ? "77" : "2") +
        " of the ranks' agreement, rank 0's host has 4); upgrade libnccl-net-fanin.so on " +
        (newer ? "rank 0's host" : "127.0.0.3") + " (likewise 1 more)";
    expect_none(0, why);
    expect_none(1, why);
    results_.clear();
  }
}

// Rank 0 is the one of another version.
TEST_F(Rendezvous, RankZeroOfAnotherVersionIsNamed) {
  for (const bool newer : {false, true}) {
    start(2);
    follow(report(1, 2, {1}));
    Fd conn = accepted();
    FrameSocket s(std::move(conn));
    ASSERT_TRUE(s.receive(soon()));
    const std::string said = header(RendezvousType::kNone, 300, newer ? 77 : 2);
    ASSERT_EQ(::send(s.fd(), said.data(), said.size(), MSG_NOSIGNAL), static_cast<ssize_t>(said.size()));
    join();
    expect_none(1, std::string("it runs another version of fanin (version ") + (newer ? "77" : "2") +
                       " of the ranks' agreement, this host has 4); upgrade libnccl-net-fanin.so on " +
                       (newer ? "this host" : "its host"));
    results_.clear();
  }
}

// It says so while a rank still sends: a report that no buffer holds (no real one is so long).
TEST_F(Rendezvous, RankZeroOfAnotherVersionIsNamedInTheMiddleOfAReport) {
  start(2);
  const int small = 4096;
  ASSERT_EQ(::setsockopt(listener_.get(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0);
  Report r = report(1, 2, {1});
  for (int i = 0; i < 40000; ++i) r.missed.push_back({std::string(300, 'r'), std::string(200, 'w')});
  follow(r);
  Fd conn = accepted();
  pollfd p{conn.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&p, 1, 10000), 1);
  const std::string said = header(RendezvousType::kNone, 300, 77);
  ASSERT_EQ(::send(conn.get(), said.data(), said.size(), MSG_NOSIGNAL), static_cast<ssize_t>(said.size()));
  conn.reset();
  join();
  expect_none(1, "it runs another version of fanin");
}

TEST_F(Rendezvous, SilentStrangersCannotPileUp) {
  start(2);
  std::vector<FrameSocket> kept;
  for (int i = 0; i < 200; ++i) kept.push_back(connect());
  lead(report(0, 2, {1}));
  follow(report(1, 2, {1}));
  join();
  for (uint32_t r = 0; r < 2; ++r) expect_use(r, {id(1)});
}

// Strangers hold rank 0's last descriptors, and a rank comes.
TEST_F(Rendezvous, StrangersHoldNoDescriptorThatIsNeeded) {
  start(2, milliseconds(20000));
  std::vector<FrameSocket> kept;
  for (int i = 0; i < 10; ++i) kept.push_back(connect());
  Fd late(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const size_t before = test::open_sockets();
  lead(report(0, 2, {1}));
  // Well within rank 0's own deadline: the rank is let in also where a stranger still waits to be.
  for (const Deadline d = Deadline::after(total_ / 4); test::open_sockets() < before + 10 && !d.passed();)
    std::this_thread::yield();
  const test::NoDescriptors left;
  ASSERT_EQ(::connect(late.get(), root_.sa(), root_.length()), 0);
  FrameSocket rank(std::move(late));
  ASSERT_TRUE(rank.send(RendezvousType::kReport, encode_report(report(1, 2, {1})), soon()));
  Result<FrameSocket::Frame> f = rank.receive(soon());
  ASSERT_TRUE(f) << f.error().text();
  EXPECT_EQ(f->type, RendezvousType::kPropose);
  ASSERT_TRUE(rank.send(RendezvousType::kAck, {}, soon()));
  join();
  expect_use(0, {id(1)});
}

TEST_F(Rendezvous, SecondReportOfARankIsDropped) {
  start(3);
  FrameSocket first = connect();
  ASSERT_TRUE(first.send(RendezvousType::kReport, encode_report(report(1, 3, {1})), soon()));
  FrameSocket second = connect();
  ASSERT_TRUE(second.send(RendezvousType::kReport, encode_report(report(1, 3, {2})), soon()));
  lead(report(0, 3, {1}));
  // The second one is closed, the first one gets the proposal once the last rank is there.
  EXPECT_FALSE(second.receive(soon()));
  follow(report(2, 3, {1}));
  auto f = first.receive(soon());
  ASSERT_TRUE(f);
  EXPECT_EQ(f->type, RendezvousType::kPropose);
  ASSERT_TRUE(first.send(RendezvousType::kAck, {}, soon()));
  f = first.receive(soon());
  ASSERT_TRUE(f);
  EXPECT_EQ(f->type, RendezvousType::kCommit);
  join();
  expect_use(0, {id(1)});
  expect_use(2, {id(1)});
}

// ---- with a secret

const Secret kSecret = *Secret::make("secret-of-the-job-0123456789abcdef"),
             kOther = *Secret::make("secret-of-another-0123456789abcdef");

SessionKey session(uint8_t n, const Secret& secret = kSecret) {
  SessionKey k{secret, {}};
  k.session.fill(n);
  return k;
}

class SealedRendezvous : public Rendezvous {
 protected:
  void lead(const Report& r, const SessionKey& key = session(1)) {
    spawn([this, r, key] {
      results_[0] = lead_rendezvous(listener_.get(), r, addresses(r.nranks), Deadlines::within(total_), key);
    });
  }
  void follow(const Report& r, const SessionKey& key = session(1)) {
    spawn([this, r, key] {
      results_[r.rank] = follow_rendezvous(root_, std::nullopt, r, Deadlines::within(total_), key);
    });
  }
  static wire::Nonce nonce_of(const FrameSocket::Frame& greeting) {
    wire::Nonce n{};
    EXPECT_EQ(greeting.type, RendezvousType::kGreeting);
    EXPECT_EQ(greeting.body.size(), n.size());
    memcpy(n.data(), greeting.body.data(), std::min(n.size(), greeting.body.size()));
    return n;
  }
  // Rank 0's greeting to a new connection.
  wire::Nonce greeted(FrameSocket& s) {
    auto f = s.receive(soon());
    EXPECT_TRUE(f) << f.error().text();
    return f ? nonce_of(*f) : wire::Nonce{};
  }
  static std::string introduction(const Report& r, FrameSeal& seal) {
    Introduction i{r.session, r.rank, r.nranks, {}};
    i.proof = seal.next(static_cast<uint16_t>(RendezvousType::kIntroduction), i.proved());
    return std::string(reinterpret_cast<const char*>(&i), sizeof i);
  }
  static std::string sealed(RendezvousType type, const std::string& body, FrameSeal& seal) {
    const wire::Proof p = seal.next(static_cast<uint16_t>(type), body);
    return encode(type, body) + std::string(reinterpret_cast<const char*>(p.data()), p.size());
  }
  static void say(FrameSocket& s, const std::string& bytes) {
    ASSERT_EQ(::send(s.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
};

TEST_F(SealedRendezvous, AllAgree) {
  start(5);
  for (uint32_t r = 1; r < 5; ++r) follow(report(r, 5, {2, 1}));
  lead(report(0, 5, {1, 2}));
  join();
  for (uint32_t r = 0; r < 5; ++r) expect_use(r, {id(1), id(2)});
}

TEST_F(SealedRendezvous, ARankGoneIsSaidToAll) {
  start(3);
  lead(report(0, 3, {1}));
  follow(report(1, 3, {1}));
  actor([&](FrameSocket& s) {
    FrameSeal seal(session(1), greeted(s), 2, FrameSeal::Side::kRank);
    say(s, encode(RendezvousType::kIntroduction, introduction(report(2, 3, {1}), seal)));
    say(s, sealed(RendezvousType::kReport, encode_report(report(2, 3, {1})), seal));
    s.seal(seal);
    ASSERT_TRUE(s.receive(soon()));
  });
  join();
  expect_none(0, "rank 2 (host2, 127.0.0.3) did not confirm");
  expect_none(1, "rank 2 (host2, 127.0.0.3) did not confirm");
}

// Strangers of every kind on rank 0's port; the ranks agree none the less.
TEST_F(SealedRendezvous, StrangersAreDroppedAndDisturbNothing) {
  start(3);
  lead(report(0, 3, {1}));
  const Report forged = report(1, 3, {9});
  std::vector<FrameSocket> kept;
  auto stranger = [&](const std::function<std::string(const wire::Nonce&)>& words) {
    kept.push_back(connect());
    say(kept.back(), words(greeted(kept.back())));
    EXPECT_FALSE(kept.back().receive(soon())) << "stranger " << kept.size() << " was answered";
  };
  auto rank_seal = [](const SessionKey& key, const wire::Nonce& n, uint32_t rank) {
    return FrameSeal(key, n, rank, FrameSeal::Side::kRank);
  };
  // Knows the session and has no secret: a report as without one, and a gigabyte of it.
  stranger([&](auto&) { return encode(RendezvousType::kReport, encode_report(forged)); });
  stranger([&](auto&) { return header(RendezvousType::kIntroduction, sizeof(Introduction) + 1); });
  stranger([&](auto&) { return header(RendezvousType::kIntroduction, 0, 3); });  // runs another version
  // Has another secret; is of another session; says to be another rank than it proves; proves with rank 0's side.
  stranger([&](auto& n) {
    FrameSeal s = rank_seal(session(1, kOther), n, 1);
    return encode(RendezvousType::kIntroduction, introduction(forged, s));
  });
  stranger([&](auto& n) {
    FrameSeal s = rank_seal(session(2), n, 1);
    return encode(RendezvousType::kIntroduction, introduction(forged, s));
  });
  stranger([&](auto& n) {
    FrameSeal s = rank_seal(session(1), n, 2);
    return encode(RendezvousType::kIntroduction, introduction(forged, s));
  });
  stranger([&](auto& n) {
    FrameSeal s(session(1), n, 1, FrameSeal::Side::kRoot);
    return encode(RendezvousType::kIntroduction, introduction(forged, s));
  });
  // Repeats all that a rank has said on another connection.
  FrameSeal genuine = rank_seal(session(1), *fresh_nonce(), 1);
  const std::string heard = encode(RendezvousType::kIntroduction, introduction(forged, genuine)) +
                            sealed(RendezvousType::kReport, encode_report(forged), genuine);
  stranger([&](auto&) { return heard; });
  // Is a rank of the job, but reports as another.
  stranger([&](auto& n) {
    FrameSeal s = rank_seal(session(1), n, 2);
    return encode(RendezvousType::kIntroduction, introduction(report(2, 3, {9}), s)) +
           sealed(RendezvousType::kReport, encode_report(forged), s);
  });
  // Introduces itself properly and has its report changed on the way.
  stranger([&](auto& n) {
    FrameSeal s = rank_seal(session(1), n, 1);
    std::string words = encode(RendezvousType::kIntroduction, introduction(forged, s)) +
                        sealed(RendezvousType::kReport, encode_report(forged), s);
    words[words.size() - 40] ^= 1;
    return words;
  });
  follow(report(1, 3, {1}));
  follow(report(2, 3, {1}));
  join();
  for (uint32_t r = 0; r < 3; ++r) expect_use(r, {id(1)});
}

// Who plays rank 0 without the secret gets no report and gives no verdict.
TEST_F(SealedRendezvous, ARankBelievesNobodyWithoutTheSecret) {
  Verdict v;
  v.use = true;
  v.reducers = {id(9)};
  const std::string propose = encode_verdict(v);
  for (int kind = 0; kind < 4; ++kind) {
    start(2, milliseconds(4000));
    follow(report(1, 2, {1}));
    FrameSocket s(accepted());
    const std::string greeting(32, 'n');
    wire::Nonce nonce;
    nonce.fill('n');
    if (kind == 0) {  // as without a secret
      say(s, encode(RendezvousType::kPropose, propose));
    } else {
      say(s, encode(RendezvousType::kGreeting, greeting));
      auto f = s.receive(soon());
      ASSERT_TRUE(f);
      EXPECT_EQ(f->type, RendezvousType::kIntroduction);
      FrameSeal other(session(1, kOther), nonce, 1, FrameSeal::Side::kRoot),
          reflected(session(1), nonce, 1, FrameSeal::Side::kRank),
          of_another_rank(session(1), nonce, 2, FrameSeal::Side::kRoot);
      say(s, sealed(RendezvousType::kPropose, propose,
                    kind == 1   ? other
                    : kind == 2 ? reflected
                                : of_another_rank));
    }
    join();
    ASSERT_TRUE(results_[1]);
    EXPECT_FALSE(results_[1]->use) << kind;
    EXPECT_TRUE(has(results_[1]->reason, kind == 0 ? "impossible frame" : "did not prove"))
        << results_[1]->reason;
    results_.clear();
  }
}

// Rank 0 greets before it knows whom: a rank of another version learns it by that, and says its own.
TEST_F(SealedRendezvous, OtherVersionsAreNamedOnBothSides) {
  start(2, milliseconds(1500));
  lead(report(0, 2, {1}));
  FrameSocket rank = connect(tcp::Address::numeric("127.0.0.2", 0));
  greeted(rank);
  say(rank, header(RendezvousType::kIntroduction, 0, 77));
  join();
  expect_none(0,
              "rank 1 (127.0.0.2) did not report to rank 0 in time; 127.0.0.2 runs another version of fanin");
  results_.clear();

  start(2);
  follow(report(1, 2, {1}));
  FrameSocket root(accepted());
  say(root, header(RendezvousType::kGreeting, 32, 77) + std::string(32, 'n'));
  auto f = root.receive(soon());
  ASSERT_TRUE(f) << f.error().text();
  EXPECT_EQ(f->body, "");
  join();
  expect_none(1, "it runs another version of fanin (version 77");
}

// A verdict that was heard is no other verdict: frames are numbered.
TEST_F(SealedRendezvous, AFrameCannotBeRepeatedOrLeftOut) {
  FrameSeal root(session(1), {}, 1, FrameSeal::Side::kRoot), rank(session(1), {}, 1, FrameSeal::Side::kRank);
  const wire::Proof first = root.next(2, "a"), second = root.next(2, "a");
  EXPECT_NE(first, second);
  FrameSeal careful = rank;
  EXPECT_TRUE(rank.fits(2, "a", first));
  EXPECT_FALSE(rank.fits(2, "a", first));
  EXPECT_FALSE(careful.fits(2, "a", second));
  EXPECT_TRUE(careful.fits(2, "a", second));
}

// Without a secret too: a frame of a megabyte is not kept for who does not know the session.
TEST_F(Rendezvous, WhoDoesNotKnowTheSessionIsNotListenedTo) {
  start(2);
  lead(report(0, 2, {1}));
  Report other = report(1, 2, {9});
  other.session[0] = 1;
  std::string bytes = encode(RendezvousType::kReport, encode_report(other) + std::string(100000, 'x'));
  FrameSocket stranger = connect();
  bytes.resize(sizeof(RendezvousHeader) + 16);
  ASSERT_EQ(::send(stranger.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
  EXPECT_FALSE(stranger.receive(soon()));
  FrameSocket rank = connect();  // a slow one that does
  bytes = encode(RendezvousType::kReport, encode_report(report(1, 2, {1})));
  for (char c : bytes) ASSERT_EQ(::send(rank.fd(), &c, 1, MSG_NOSIGNAL), 1);
  auto f = rank.receive(soon());
  ASSERT_TRUE(f) << f.error().text();
  ASSERT_TRUE(rank.send(RendezvousType::kAck, {}, soon()));
  join();
  expect_use(0, {id(1)});
}

}  // namespace
}  // namespace fanin::plugin::collnet
