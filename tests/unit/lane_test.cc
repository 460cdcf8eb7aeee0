// Both halves of a lane against a scripted reducer: every cut of the stream, the window, aborts amid results.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "fanin/checksum.h"
#include "plugin/collnet/lane_receiver.h"
#include "plugin/collnet/lane_sender.h"

namespace fanin::plugin::collnet {
namespace {

constexpr uint32_t kBlock = 4096;

// A stream that moves as much as the script says.
class ScriptedStream final : public Stream {
 public:
  IoResult readv(const iovec* iov, int n) override {
    size_t moved = 0, limit = std::min(read_limit, input.size());
    for (int i = 0; i < n && moved < limit; ++i) {
      const size_t take = std::min(iov[i].iov_len, limit - moved);
      memcpy(iov[i].iov_base, input.data() + moved, take);
      moved += take;
    }
    input.erase(0, moved);
    if (moved > 0) return {IoResult::Kind::kBytes, moved, 0};
    return {closed ? IoResult::Kind::kClosed : IoResult::Kind::kWouldBlock, 0, 0};
  }
  IoResult writev(const iovec* iov, int n) override {
    size_t moved = 0;
    for (int i = 0; i < n && moved < write_limit; ++i) {
      const size_t take = std::min(iov[i].iov_len, write_limit - moved);
      output.append(static_cast<const char*>(iov[i].iov_base), take);
      moved += take;
    }
    if (moved > 0) return {IoResult::Kind::kBytes, moved, 0};
    return {IoResult::Kind::kWouldBlock, 0, 0};
  }
  int fd() const override { return -1; }
  const std::string& peer() const override { return name_; }
  uint64_t rate() const override { return link_rate; }

  std::string input, output;
  size_t read_limit = SIZE_MAX, write_limit = SIZE_MAX;
  bool closed = false;
  uint64_t link_rate = 0;

 private:
  std::string name_ = "script";
};

// One message in one lane, with buffers.
struct Message {
  Message(Coll coll, uint64_t number, uint64_t bytes, Range own) : send(bytes), recv(bytes, std::byte{0xee}) {
    for (size_t i = 0; i < bytes; ++i) send[i] = static_cast<std::byte>((i * 13 + number) % 251);
    request.op.coll = coll;
    request.op.message = number;
    request.op.bytes = bytes;
    request.op.own = own;
    request.op.send = send.data() + (coll == Coll::kAllGather ? own.begin : 0);
    request.op.recv = recv.data() + (coll == Coll::kReduceScatter ? own.begin : 0);
    request.remaining = 1;
  }
  Slice slice() { return {&request, {0, request.op.bytes}}; }
  Slice slice(uint64_t begin, uint64_t end) { return {&request, {begin, end}}; }
  std::vector<std::byte> send, recv;
  Request request;
};

std::byte result_byte(uint64_t message, uint64_t pos) {
  return static_cast<std::byte>((pos * 7 + message * 3 + 1) % 253);
}

template <class T>
std::string bytes_of(const T& v) {
  return std::string(reinterpret_cast<const char*>(&v), sizeof v);
}

std::string result_frame(const Slice& s, uint64_t block) {
  const Op& op = s.request->op;
  const Range r = op.receives(s.block(block, kBlock));
  wire::ResultHeader h{};
  h.type = wire::FrameType::kResult;
  h.message = op.message;
  h.offset = r.begin;
  h.payload_bytes = static_cast<uint32_t>(r.size());
  std::string out = bytes_of(h);
  for (uint64_t i = r.begin; i < r.end; ++i) out += static_cast<char>(result_byte(op.message, i));
  return out;
}

std::string results(const Slice& s) {
  std::string out;
  for (uint64_t b = 0; b < s.blocks(kBlock); ++b) out += result_frame(s, b);
  return out;
}

// The slice's results, each block in up to `parts` frames of sizes that `random` chooses.
std::string divided_results(const Slice& s, std::mt19937& random, uint64_t begin = 0,
                            uint64_t end = UINT64_MAX) {
  std::string out;
  for (uint64_t b = 0; b < s.blocks(kBlock); ++b) {
    const Range block = s.block(b, kBlock).cut({begin, end});
    for (uint64_t at = block.begin; at < block.end;) {
      const uint64_t left = s.block(b, kBlock).end - at;
      const uint64_t take = std::min(block.end - at, random() % 3 == 0 ? left : 1 + random() % left);
      wire::ResultHeader h{};
      h.type = wire::FrameType::kResult;
      h.more = take < left;
      h.message = s.request->op.message;
      h.offset = at;
      h.payload_bytes = static_cast<uint32_t>(take);
      out += bytes_of(h);
      for (uint64_t i = at; i < at + take; ++i) out += static_cast<char>(result_byte(h.message, i));
      at += take;
    }
  }
  return out;
}

std::string abort_frame(wire::AbortCode code, uint32_t rank, const std::string& text) {
  wire::ResultHeader h{};
  h.type = wire::FrameType::kAbort;
  h.payload_bytes = static_cast<uint32_t>(text.size());
  h.message = static_cast<uint64_t>(code) | static_cast<uint64_t>(rank) << 32;
  return bytes_of(h) + text;
}

void expect_results(const Message& m) {
  const Range got = m.request.op.receives({0, m.request.op.bytes});
  for (uint64_t i = 0; i < m.recv.size(); ++i) {
    const std::byte want =
        i >= got.begin && i < got.end ? result_byte(m.request.op.message, i) : std::byte{0xee};
    ASSERT_EQ(m.recv[i], want) << "message " << m.request.op.message << " byte " << i;
  }
}

// A lane without threads: post, send everything, receive.
struct Bench {
  explicit Bench(uint32_t window = 1000, bool checksums = false)
      : sender(queue, kBlock, window, checksums), receiver(queue, kBlock, checksums) {}
  void send_all() {
    while (sender.send(stream) == LaneSender::Outcome::kMoved) {
    }
  }
  LaneReceiver::Outcome receive() {
    return receiver.receive(stream, [this](Request* r) { finished.push_back(r->op.message); });
  }
  // Until nothing more comes.
  LaneReceiver::Outcome receive_all() {
    for (;;) {
      const auto o = receive();
      if (o != LaneReceiver::Outcome::kMoved && o != LaneReceiver::Outcome::kDrained) return o;
    }
  }
  LaneQueue queue;
  LaneSender sender;
  LaneReceiver receiver;
  ScriptedStream stream;
  std::vector<uint64_t> finished;
};

struct Trio {
  // Sizes with a short last block; the own range begins and ends amid blocks.
  Message reduce{Coll::kAllReduce, 0, 2 * kBlock + 100, {0, 2 * kBlock + 100}};
  Message scatter{Coll::kReduceScatter, 1, 3 * kBlock, {kBlock + 10, 2 * kBlock + 20}};
  Message gather{Coll::kAllGather, 2, 2 * kBlock + 8, {kBlock - 8, kBlock + 8}};
  void post(LaneQueue& q) {
    q.post(reduce.slice());
    q.post(scatter.slice());
    q.post(gather.slice());
  }
  std::string all_results() {
    return results(reduce.slice()) + results(scatter.slice()) + results(gather.slice());
  }
};

// What a reducer reads: header and payload of each slice.
struct Parsed {
  wire::SliceHeader header;
  std::string payload;
};
std::vector<Parsed> parse(const std::string& out, const std::vector<uint64_t>& payload_bytes) {
  std::vector<Parsed> parsed;
  size_t at = 0;
  for (uint64_t n : payload_bytes) {
    Parsed p;
    memcpy(&p.header, out.data() + at, sizeof p.header);
    p.payload = out.substr(at + sizeof p.header, n);
    at += sizeof p.header + n;
    parsed.push_back(p);
  }
  EXPECT_EQ(at, out.size());
  return parsed;
}

std::string part(const Message& m, uint64_t begin, uint64_t end) {
  return std::string(reinterpret_cast<const char*>(m.send.data()) + begin, end - begin);
}

TEST(LaneSender, SendsHeadersAndPayloadHoweverTheSocketCutsThem) {
  std::string whole;
  for (size_t limit : {SIZE_MAX, size_t{1}, size_t{7}, size_t{63}, size_t{64}, size_t{65}, size_t{4000}}) {
    Bench b;
    Trio t;
    t.post(b.queue);
    b.stream.write_limit = limit;
    while (b.sender.send(b.stream) != LaneSender::Outcome::kIdle) {
    }
    EXPECT_EQ(b.queue.sent(), 3u);
    EXPECT_TRUE(b.sender.at_boundary());
    if (whole.empty()) {
      whole = b.stream.output;
      auto p = parse(whole, {2 * kBlock + 100, 3 * kBlock, 16});
      EXPECT_EQ(p[0].payload, part(t.reduce, 0, 2 * kBlock + 100));
      EXPECT_EQ(p[1].payload, part(t.scatter, 0, 3 * kBlock));
      EXPECT_EQ(p[2].payload, part(t.gather, kBlock - 8, kBlock + 8));
      EXPECT_EQ(p[1].header.coll, Coll::kReduceScatter);
      EXPECT_EQ(p[2].header.message, 2u);
      EXPECT_EQ(p[2].header.length, 2 * kBlock + 8u);
    }
    EXPECT_EQ(b.stream.output, whole) << "cut at " << limit;
  }
}

TEST(LaneSender, KeepsToTheWindowAndStreamsLargerSlices) {
  Bench b(2);
  Message m(Coll::kAllReduce, 0, 5 * kBlock + 1, {0, 5 * kBlock + 1});
  b.queue.post(m.slice());
  b.send_all();
  EXPECT_EQ(b.stream.output.size(), sizeof(wire::SliceHeader) + 2 * kBlock);
  EXPECT_EQ(b.queue.blocks_offered(), 2u);
  EXPECT_FALSE(b.sender.ready());
  for (uint64_t block = 0; block < 6; ++block) {
    b.stream.input += result_frame(m.slice(), block);
    b.receive_all();
    EXPECT_EQ(b.sender.ready(), block + 2 < 6);
    b.send_all();
    EXPECT_EQ(b.queue.blocks_offered(), std::min<uint64_t>(block + 3, 6));
  }
  EXPECT_EQ(b.finished, std::vector<uint64_t>{0});
  expect_results(m);
}

TEST(LaneSender, WindowSpansSlices) {
  Bench b(3);
  std::deque<Message> m;
  for (uint64_t i = 0; i < 5; ++i) m.emplace_back(Coll::kAllReduce, i, 10, Range{0, 10});
  for (Message& x : m) b.queue.post({&x.request, {0, 10}});
  b.send_all();
  EXPECT_EQ(b.stream.output.size(), 3 * (sizeof(wire::SliceHeader) + 10));
  b.stream.input = results(m[0].slice());
  b.receive_all();
  b.send_all();
  EXPECT_EQ(b.queue.sent(), 4u);
}

TEST(LaneSender, AllGatherSendsItsPartWhenTheWindowReachesIt) {
  Bench b(2);
  // Own part in block 4 of 6: the header goes at once, the part when block 2 has come back.
  Message m(Coll::kAllGather, 0, 6 * kBlock, {4 * kBlock + 5, 4 * kBlock + 25});
  b.queue.post(m.slice());
  b.send_all();
  EXPECT_EQ(b.stream.output.size(), sizeof(wire::SliceHeader));
  EXPECT_EQ(b.queue.blocks_offered(), 4u);
  for (uint64_t block = 0; block < 3; ++block) {
    EXPECT_FALSE(b.sender.ready());
    b.stream.input += result_frame(m.slice(), block);
    b.receive_all();
    b.send_all();
  }
  EXPECT_EQ(b.stream.output.substr(sizeof(wire::SliceHeader)), part(m, 4 * kBlock + 5, 4 * kBlock + 25));
  EXPECT_EQ(b.queue.blocks_offered(), 6u);
  for (uint64_t block = 3; block < 6; ++block) b.stream.input += result_frame(m.slice(), block);
  b.receive_all();
  expect_results(m);
}

// Of most blocks this rank gets nothing: their results are headers alone, and one read covers many of them.
TEST(LaneReceiver, ManyEmptyResultsInOneRead) {
  Bench b;
  Message m(Coll::kReduceScatter, 0, 300 * kBlock, {299 * kBlock, 300 * kBlock});
  b.queue.post(m.slice());
  b.send_all();
  b.stream.input = results(m.slice());
  b.receive_all();
  ASSERT_EQ(b.finished.size(), 1u);
  expect_results(m);
}

TEST(LaneSender, StepsAreBoundedAndThePositionFollows) {
  Bench b;
  Message first(Coll::kAllReduce, 0, 2 * kBlock, {0, 2 * kBlock});
  Message second(Coll::kAllReduce, 1, 4 * kBlock, {0, 4 * kBlock});
  second.request.op.base = 2 * kBlock;
  // The second half of each message is this lane's.
  b.queue.post(first.slice(kBlock, 2 * kBlock));
  b.queue.post(second.slice(2 * kBlock, 4 * kBlock));
  const size_t header = sizeof(wire::SliceHeader);
  b.sender.send(b.stream, kBlock / 2);
  EXPECT_EQ(b.stream.output.size(), header + kBlock / 2);
  EXPECT_EQ(b.sender.position(), kBlock);   // half of the slice stands for half of the message
  EXPECT_EQ(b.queue.blocks_offered(), 1u);  // a block that is begun may be answered
  b.sender.send(b.stream, kBlock);          // over the border
  EXPECT_EQ(b.stream.output.size(), 2 * header + kBlock + kBlock / 2);
  EXPECT_EQ(b.queue.sent(), 1u);
  EXPECT_EQ(b.sender.position(), 2 * kBlock + kBlock);
  b.send_all();
  EXPECT_EQ(b.sender.position(), 6 * kBlock);
  EXPECT_EQ(b.stream.output.substr(header, kBlock), part(first, kBlock, 2 * kBlock));
  EXPECT_EQ(b.stream.output.substr(2 * header + kBlock), part(second, 2 * kBlock, 4 * kBlock));
}

// Small steps are for links that take their time; where the link is no limit they would only cost system calls.
TEST(LaneSender, StepsAreLargeOnAFastLink) {
  constexpr uint64_t kBytes = 4 << 20;
  for (const auto& [rate, least, most] : {std::tuple{0ull, 32ull << 10, 32ull << 10},
                                          {12'000'000ull, 30ull << 10, 32ull << 10},
                                          {25'000'000ull, 32ull << 10, 64ull << 10},
                                          {2'000'000'000ull, 200'000ull, 200'000ull},
                                          {1'000'000'000'000ull, 1ull << 20, 1ull << 20}}) {
    Bench b(2 * kBytes / kBlock);
    b.stream.link_rate = rate;
    Message m(Coll::kAllReduce, 0, kBytes, {0, kBytes});
    b.queue.post(m.slice());
    EXPECT_EQ(b.sender.step(), 4u << 10) << "nothing is known of the link yet";
    while (b.stream.output.size() < 512 << 10) b.sender.send(b.stream, b.sender.step());
    EXPECT_GE(b.sender.step(), least) << rate;
    EXPECT_LE(b.sender.step(), most) << rate;
  }
}

TEST(LaneSender, FarewellOnlyBetweenFrames) {
  Bench b;
  Message m(Coll::kAllReduce, 0, 100, {0, 100});
  b.queue.post(m.slice());
  b.stream.write_limit = 70;
  b.sender.send(b.stream);
  b.stream.write_limit = SIZE_MAX;
  b.sender.farewell(b.stream, wire::FrameType::kAbort, wire::AbortCode::kRankLeft, "bye");
  EXPECT_EQ(b.stream.output.size(), 70u);
  b.send_all();
  b.sender.farewell(b.stream, wire::FrameType::kAbort, wire::AbortCode::kRankLeft, "bye");
  auto p = parse(b.stream.output, {100, 3});
  EXPECT_EQ(p[1].header.type, wire::FrameType::kAbort);
  EXPECT_EQ(p[1].header.text_bytes, 3u);
  EXPECT_EQ(p[1].payload, "bye");
}

TEST(LaneReceiver, ResultsCutAtEveryByte) {
  Trio reference;
  const std::string all = reference.all_results();
  for (size_t cut = 0; cut <= all.size(); ++cut) {
    // Near frame borders every cut, elsewhere a sample.
    if (cut % 97 != 0 && cut % kBlock > 200 && cut % kBlock < kBlock - 200) continue;
    Bench b;
    Trio t;
    t.post(b.queue);
    b.send_all();
    b.stream.input = all.substr(0, cut);
    ASSERT_EQ(b.receive_all(), LaneReceiver::Outcome::kNothing) << b.receiver.error().text();
    b.stream.input = all.substr(cut);
    ASSERT_EQ(b.receive_all(), LaneReceiver::Outcome::kNothing) << b.receiver.error().text();
    ASSERT_EQ(b.finished, (std::vector<uint64_t>{0, 1, 2})) << "cut at " << cut;
    ASSERT_EQ(b.queue.blocks_received(), 3u + 3 + 3);
    expect_results(t.reduce);
    expect_results(t.scatter);
    expect_results(t.gather);
  }
}

// ---- With checksums

std::string sum_bytes(uint64_t sum) { return bytes_of(sum); }

// A slice as a reducer must read it.
std::string summed(const Message& m, const wire::SliceHeader& h) {
  EXPECT_EQ(h.reserved, header_sum(h));
  std::string out = bytes_of(h);
  const Range sends = m.request.op.sends({h.offset, h.offset + h.length});
  for (uint64_t at = h.offset; at < h.offset + h.length; at += kBlock) {
    const Range r = sends.cut({at, at + kBlock});
    if (r.empty()) continue;
    const std::string bytes = part(m, r.begin, r.end);
    out += bytes + sum_bytes(part_sum(h.reserved, r.begin, bytes.data(), bytes.size()));
  }
  return out;
}

TEST(LaneSender, SumsFollowEachPartHoweverTheSocketCutsThem) {
  for (size_t limit : {SIZE_MAX, size_t{1}, size_t{7}, size_t{64}, size_t{71}, size_t{4000}, size_t{4104}}) {
    Bench b(1000, true);
    Trio t;
    Message large(Coll::kAllReduce, 3, 40 * kBlock, {0, 40 * kBlock});
    t.post(b.queue);
    b.queue.post(large.slice());
    b.stream.write_limit = limit;
    for (size_t sent = 1; sent > 0;) {
      sent = b.stream.output.size();
      b.sender.send(b.stream, limit % 2 ? UINT64_MAX : 10000);
      sent = b.stream.output.size() - sent;
    }
    EXPECT_EQ(b.queue.sent(), 4u);
    size_t at = 0;
    for (const Message* m : {&t.reduce, &t.scatter, &t.gather, &large}) {
      wire::SliceHeader h;
      memcpy(&h, b.stream.output.data() + at, sizeof h);
      EXPECT_EQ(h.message, m->request.op.message);
      const std::string want = summed(*m, h);
      ASSERT_EQ(b.stream.output.substr(at, want.size()), want)
          << "message " << h.message << " cut at " << limit;
      at += want.size();
    }
    EXPECT_EQ(at, b.stream.output.size());
  }
}

TEST(LaneSender, SumsKeepToTheWindow) {
  Bench b(2, true);
  Message m(Coll::kAllReduce, 0, 5 * kBlock + 1, {0, 5 * kBlock + 1});
  b.queue.post(m.slice());
  b.send_all();
  EXPECT_EQ(b.stream.output.size(), sizeof(wire::SliceHeader) + 2 * (kBlock + 8));
  EXPECT_FALSE(b.sender.ready());
  EXPECT_EQ(b.sender.send_rest(b.stream), LaneSender::Outcome::kIdle);
}

// Frames with their sums.
std::string sealed(std::string frames) {
  for (size_t at = 0; at < frames.size();) {
    wire::ResultHeader h;
    memcpy(&h, frames.data() + at, sizeof h);
    h.reserved = frame_sum(h, frames.data() + at + sizeof h, h.payload_bytes);
    memcpy(frames.data() + at, &h, sizeof h);
    at += sizeof h + h.payload_bytes;
  }
  return frames;
}

TEST(LaneReceiver, SummedResultsHoweverCutWithNoticesBetween) {
  wire::ResultHeader notice{};
  notice.type = wire::FrameType::kWaiting;
  notice.payload_bytes = 6;
  std::vector<size_t> limits{size_t{1}, size_t{31}, size_t{4128}, size_t{5000}, SIZE_MAX};
  // The notice begins in one read and ends in another, with what follows.
  for (size_t n = 0; n < 6; ++n) limits.push_back(sizeof notice + n);
  for (size_t limit : limits) {
    Bench b(1000, true);
    Trio t;
    t.post(b.queue);
    b.send_all();
    b.stream.read_limit = limit;
    const std::string told = bytes_of(notice) + "rank 7";
    b.stream.input = sealed(told + results(t.reduce.slice()) + told + results(t.scatter.slice()) +
                            results(t.gather.slice()));
    ASSERT_EQ(b.receive_all(), LaneReceiver::Outcome::kNothing) << b.receiver.error().text();
    EXPECT_EQ(b.finished, (std::vector<uint64_t>{0, 1, 2}));
    for (const Message* m : {&t.reduce, &t.scatter, &t.gather}) expect_results(*m);
  }
}

// Whatever bit is turned over: the message that it is in is never reported as done.
TEST(LaneReceiver, NoFlippedBitGetsThrough) {
  std::mt19937 random(5);
  size_t damaged = 0;
  for (int i = 0; i < 400; ++i) {
    Bench b(1000, true);
    Message m(Coll::kAllReduce, 0, 300, {0, 300}), next(Coll::kAllReduce, 1, 300, {0, 300});
    b.queue.post(m.slice());
    b.queue.post(next.slice());
    b.send_all();
    std::string in = sealed(results(m.slice()));
    const size_t bit = i < 256 ? static_cast<size_t>(i) : random() % (in.size() * 8);
    in[bit / 8] = static_cast<char>(in[bit / 8] ^ 1 << bit % 8);
    b.stream.input = in;
    const auto outcome = b.receive_all();
    EXPECT_TRUE(b.finished.empty()) << bit;
    if (outcome == LaneReceiver::Outcome::kNothing) continue;  // a frame that is longer now, and never comes
    ASSERT_EQ(outcome, LaneReceiver::Outcome::kAborted);
    if (!b.receiver.damaged()) continue;
    ++damaged;
    EXPECT_EQ(b.receiver.abort_code(), wire::AbortCode::kDamaged);
    EXPECT_NE(b.receiver.error().text().find("from script: a result arrived damaged: message 0"),
              std::string::npos)
        << b.receiver.error().text();
    // What follows is taken, for the window, and finishes nothing.
    b.stream.input = sealed(results(next.slice()));
    EXPECT_EQ(b.receive_all(), LaneReceiver::Outcome::kNothing);
    EXPECT_EQ(b.queue.received(), 2u);
    EXPECT_TRUE(b.finished.empty());
  }
  EXPECT_GT(damaged, 200u);
}

TEST(LaneReceiver, DamagedAbortIsToldAsDamage) {
  Bench b(1000, true);
  b.stream.input = sealed(abort_frame(wire::AbortCode::kRankLost, 3, "rank 3 is gone"));
  ASSERT_EQ(b.receive_all(), LaneReceiver::Outcome::kAborted);
  EXPECT_NE(b.receiver.error().text().find("rank 3 is gone"), std::string::npos);
  Bench c(1000, true);
  c.stream.input = sealed(abort_frame(wire::AbortCode::kRankLost, 3, "rank 3 is gone"));
  c.stream.input[35] ^= 1;
  ASSERT_EQ(c.receive_all(), LaneReceiver::Outcome::kAborted);
  EXPECT_NE(c.receiver.error().text().find("arrived damaged"), std::string::npos)
      << c.receiver.error().text();
}

TEST(LaneReceiver, ResultsByteByByte) {
  Bench b;
  Trio t;
  t.post(b.queue);
  b.send_all();
  b.stream.input = t.all_results();
  b.stream.read_limit = 1;
  ASSERT_EQ(b.receive_all(), LaneReceiver::Outcome::kNothing);
  EXPECT_EQ(b.finished, (std::vector<uint64_t>{0, 1, 2}));
  expect_results(t.reduce);
  expect_results(t.scatter);
  expect_results(t.gather);
}

TEST(LaneReceiver, ManyBlocksPerCall) {
  Bench b;
  Message m(Coll::kAllReduce, 0, 40 * kBlock, {0, 40 * kBlock});
  b.queue.post(m.slice());
  while (b.sender.send(b.stream) == LaneSender::Outcome::kMoved) {
  }
  b.stream.input = results(m.slice());
  EXPECT_EQ(b.receive(), LaneReceiver::Outcome::kMoved);
  EXPECT_GE(b.queue.blocks_received(), 31u);
  b.receive_all();
  expect_results(m);
}

TEST(LaneReceiver, AbortAfterAnyBlockHoweverCut) {
  const std::string text = "rank 3 (10.0.0.3:5) is gone: it closed its connection without goodbye";
  for (size_t blocks = 0; blocks <= 3; ++blocks)
    for (size_t limit : {SIZE_MAX, size_t{1}, size_t{31}, size_t{33}, size_t{50}}) {
      Bench b;
      Trio t;
      t.post(b.queue);
      b.send_all();
      for (size_t i = 0; i < blocks; ++i) b.stream.input += result_frame(t.reduce.slice(), i);
      b.stream.input += abort_frame(wire::AbortCode::kRankLost, 3, text);
      b.stream.read_limit = limit;
      ASSERT_EQ(b.receive_all(), LaneReceiver::Outcome::kAborted);
      EXPECT_EQ(b.receiver.error().code(), Errc::kRemote);
      EXPECT_EQ(b.receiver.error().text(), "ended the session: " + text);
      EXPECT_EQ(b.queue.blocks_received(), blocks);
      EXPECT_EQ(b.finished.size(), blocks == 3 ? 1u : 0u);
    }
}

std::string notice_frame(const std::string& text) {
  wire::ResultHeader h{};
  h.type = wire::FrameType::kWaiting;
  h.payload_bytes = static_cast<uint32_t>(text.size());
  return bytes_of(h) + text;
}

// Anywhere between results, however cut, also several at once: nothing of a result is lost or misplaced.
TEST(LaneReceiver, NoticesBetweenResultsHoweverCut) {
  const std::string text = "rank 3 (10.0.0.3:5) in message 2";
  for (size_t limit : {SIZE_MAX, size_t{1}, size_t{31}, size_t{33}, size_t{50}, size_t{4000}, size_t{9001}}) {
    Bench b;
    Trio t;
    t.post(b.queue);
    b.send_all();
    std::string& in = b.stream.input;
    for (const Slice& s : {t.reduce.slice(), t.scatter.slice(), t.gather.slice()})
      for (uint64_t block = 0; block < s.blocks(kBlock); ++block) {
        in += notice_frame(text);
        if (block == 1) in += notice_frame(std::string(wire::kMaxText, 'x')) + notice_frame(text);
        in += result_frame(s, block);
      }
    in += notice_frame(text);
    b.stream.read_limit = limit;
    std::string heard;
    size_t notices = 0;
    while (!b.stream.input.empty()) {
      const auto o = b.receive();
      ASSERT_TRUE(o == LaneReceiver::Outcome::kMoved || o == LaneReceiver::Outcome::kDrained)
          << b.receiver.error().text();
      notices += b.receiver.take_notice(&heard);
    }
    EXPECT_EQ(heard, text);
    EXPECT_GE(notices, 1u);
    EXPECT_EQ(b.finished, (std::vector<uint64_t>{0, 1, 2})) << "cut at " << limit;
    expect_results(t.reduce);
    expect_results(t.scatter);
    expect_results(t.gather);
  }
}

// In place: bytes that have not left yet must not be overwritten by what a notice shifts.
TEST(LaneReceiver, NoticesSpareWhatHasNotLeft) {
  Bench b;
  Message m(Coll::kAllReduce, 0, 4 * kBlock, {0, 4 * kBlock});
  m.request.op.recv = m.send.data();
  const std::string rest = part(m, 2 * kBlock, 4 * kBlock);
  b.queue.post(m.slice());
  b.stream.write_limit = sizeof(wire::SliceHeader) + 2 * kBlock;
  b.sender.send(b.stream);  // offers all, sends two blocks
  b.stream.input = notice_frame(std::string(900, 'n')) + result_frame(m.slice(), 0) + notice_frame("rank 1") +
                   result_frame(m.slice(), 1);
  b.receive_all();
  EXPECT_EQ(b.queue.blocks_received(), 2u);
  EXPECT_EQ(part(m, 2 * kBlock, 4 * kBlock), rest);
}

TEST(LaneReceiver, EndlessNoticeIsRefused) {
  Bench b;
  wire::ResultHeader h{};
  h.type = wire::FrameType::kWaiting;
  h.payload_bytes = wire::kMaxText + 1;
  b.stream.input = bytes_of(h);
  EXPECT_EQ(b.receive_all(), LaneReceiver::Outcome::kAborted);
}

TEST(LaneReceiver, AbortWhileIdle) {
  Bench b;
  b.stream.input = abort_frame(wire::AbortCode::kShutdown, wire::kNoRank, "the reducer was stopped");
  ASSERT_EQ(b.receive_all(), LaneReceiver::Outcome::kAborted);
  EXPECT_EQ(b.receiver.error().text(), "ended the session: the reducer was stopped");
}

TEST(LaneReceiver, AbortWithoutTextOrRankInItIsPutIntoWords) {
  {
    Bench b;
    b.stream.input = abort_frame(wire::AbortCode::kTimeout, 4, "");
    ASSERT_EQ(b.receive_all(), LaneReceiver::Outcome::kAborted);
    EXPECT_EQ(b.receiver.error().text(), "ended the session: rank 4 was silent for too long");
  }
  {
    Bench b;
    b.stream.input = abort_frame(wire::AbortCode::kRankLost, 4, "connection\nreset");
    ASSERT_EQ(b.receive_all(), LaneReceiver::Outcome::kAborted);
    EXPECT_EQ(b.receiver.error().text(), "ended the session: rank 4: connection reset");
  }
}

TEST(LaneReceiver, AbortCutByTheEndOfTheStream) {
  Bench b;
  b.stream.input = abort_frame(wire::AbortCode::kRankLost, 2, "rank 2 is gone: and so on").substr(0, 32 + 14);
  b.stream.closed = true;
  ASSERT_EQ(b.receive_all(), LaneReceiver::Outcome::kAborted);
  EXPECT_EQ(b.receiver.error().text(), "ended the session: rank 2 is gone");
}

TEST(LaneReceiver, DividedBlocksHoweverTheyArrive) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    Bench b;
    Trio t;
    Message more(Coll::kAllReduce, 3, 3 * kBlock + 5, {0, 3 * kBlock + 5});
    t.post(b.queue);
    b.queue.post(more.slice());
    b.send_all();
    std::string all = divided_results(t.reduce.slice(), random) + results(t.scatter.slice()) +
                      results(t.gather.slice()) + divided_results(more.slice(), random);
    while (!all.empty()) {
      const size_t cut = random() % 2 == 0 ? random() % 200 : random() % 30000;
      b.stream.input += all.substr(0, cut);
      all.erase(0, cut);
      ASSERT_EQ(b.receive_all(), LaneReceiver::Outcome::kNothing) << b.receiver.error().text();
    }
    ASSERT_EQ(b.finished, (std::vector<uint64_t>{0, 1, 2, 3}));
    ASSERT_EQ(b.queue.blocks_received(), 3u + 3 + 3 + 4);
    expect_results(t.reduce);
    expect_results(t.scatter);
    expect_results(t.gather);
    expect_results(more);
  }
}

// In place, what has not left yet lies right behind where results land.
TEST(LaneReceiver, ResultsOfWhatHasLeftTouchNothingThatHasNot) {
  std::mt19937 random(5);
  for (int round = 0; round < 100; ++round) {
    Bench b;
    Message m(Coll::kAllReduce, 0, 6 * kBlock, {0, 6 * kBlock});
    m.recv = m.send;
    m.request.op.send = m.recv.data();
    b.queue.post(m.slice());
    uint64_t left = 0, answered = 0;
    while (b.finished.empty()) {
      b.stream.write_limit = 1 + random() % 3000;
      b.sender.send(b.stream);
      left = b.stream.output.size() - std::min(b.stream.output.size(), sizeof(wire::SliceHeader));
      if (random() % 2 == 0) continue;
      b.stream.input = divided_results(m.slice(), random, answered, left);
      answered = left;
      ASSERT_EQ(b.receive_all(), LaneReceiver::Outcome::kNothing) << b.receiver.error().text();
    }
    ASSERT_EQ(b.stream.output.substr(sizeof(wire::SliceHeader)), part(m, 0, 6 * kBlock))
        << "sent something else";
    expect_results(m);
  }
}

TEST(LaneReceiver, EndOfStreamIsTold) {
  Bench b;
  Trio t;
  t.post(b.queue);
  b.send_all();
  b.stream.input = t.all_results().substr(0, 5000);
  b.stream.closed = true;
  EXPECT_EQ(b.receive_all(), LaneReceiver::Outcome::kClosed);
}

TEST(LaneReceiver, ImpossibleResultsAreRefused) {
  auto verdict = [](auto spoil) {
    Bench b;
    Message m(Coll::kAllReduce, 5, kBlock, {0, kBlock});
    b.queue.post(m.slice());
    b.send_all();
    std::string frame = result_frame(m.slice(), 0);
    auto* h = reinterpret_cast<wire::ResultHeader*>(frame.data());
    spoil(*h);
    b.stream.input = frame;
    EXPECT_EQ(b.receive_all(), LaneReceiver::Outcome::kAborted);
    EXPECT_TRUE(b.finished.empty());
    return b.receiver.error().text();
  };
  EXPECT_NE(verdict([](auto& h) { h.message = 6; }).find("message 6"), std::string::npos);
  EXPECT_NE(verdict([](auto& h) { h.offset = 64; }).find("offset 64"), std::string::npos);
  EXPECT_NE(verdict([](auto& h) { h.payload_bytes = 64; }).find("64 bytes where"), std::string::npos);
  EXPECT_NE(verdict([](auto& h) { h.more = 1; }).find("4096 bytes where"), std::string::npos);
  EXPECT_NE(verdict([](auto& h) { h.more = 1, h.payload_bytes = 0; }).find("0 bytes where"),
            std::string::npos);
  EXPECT_NE(verdict([](auto& h) { h.type = wire::FrameType::kSlice; }).find("frame type 1"),
            std::string::npos);
}

TEST(LaneReceiver, ResultNobodyAskedFor) {
  Bench b;
  Message m(Coll::kAllReduce, 5, 100, {0, 100});
  b.stream.input = results(m.slice());
  EXPECT_EQ(b.receive_all(), LaneReceiver::Outcome::kAborted);
  EXPECT_NE(b.receiver.error().text().find("nobody asked for"), std::string::npos);
}

}  // namespace
}  // namespace fanin::plugin::collnet
