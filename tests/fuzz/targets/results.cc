// The worker's side of a session: what a reducer sends after the handshake.
//
// The input is a script: messages are posted and sent, the reducer answers rightly, wrongly, in pieces of any size, aborts or
// vanishes. A real Lane (queue, sender, receiver) is driven as its I/O thread does. Checked besides memory: what is sent is
// whole frames in order; while the reducer keeps to the protocol every slice completes with the right bytes; nothing is
// written outside the receive buffers.
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <vector>

#include "fanin/checksum.h"
#include "plugin/collnet/lane.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/kernel.h"
#include "transport/tcp/tcp_stream.h"

namespace fanin::plugin::collnet {
namespace {

using fuzz::check;
using fuzz::Input;
using fuzz::raw;
namespace kernel = fuzz::kernel;

constexpr uint32_t kRank = 1, kNranks = 3;
constexpr uint32_t kBlock = 64;

class Script {
 public:
  explicit Script(Input in)
      : in_(in), fd_(kernel::socket()), first_(in_.u8()), window_(1 + first_ % 6), summed_(first_ >= 192) {
    LaneConnection c;
    c.stream = std::make_unique<tcp::TcpStream>(Fd(fd_));
    c.reducer = "pool:4000";
    c.block_bytes = kBlock;
    c.window_blocks = window_;
    c.checksums = summed_;
    lane_ = std::make_unique<Lane>(std::move(c));
  }

  void run() {
    for (int steps = 0; !in_.done() && steps < 400; ++steps) step();
    if (clean_) finish();
    lane_->close(wire::FrameType::kGoodbye, {}, "");
    check_sent();
  }

 private:
  struct Due;
  struct Message {
    Request request;
    std::vector<std::byte> said;        // what send held when posted
    std::vector<std::byte> send, recv;  // of exact size on the heap: the sanitizer sees every byte too far
    bool done = false;
  };

  void step() {
    switch (in_.below(14)) {
      case 0:
      case 1:
        post();
        return send();
      case 2:
      case 3:
        return answer();
      case 4: {
        std::string bytes =
            answered_ == blocks_.size() ? std::string(raw(due())) : frame(due(), blocks_[answered_]);
        bytes[in_.below(sizeof(wire::ResultHeader))] ^= static_cast<char>(in_.u8());
        if (!summed_) bytes.resize(sizeof(wire::ResultHeader));
        stray();
        return deliver(bytes);
      }
      case 5: {
        wire::ResultHeader h = due();
        h.type = static_cast<wire::FrameType>(in_.u8());
        h.message = in_.number();
        h.payload_bytes = static_cast<uint32_t>(in_.number());
        h.offset = in_.number();
        stray();
        return deliver(raw(h));
      }
      case 6:
        stray();
        return deliver(in_.text(in_.u8()));
      case 7: {  // an abort
        wire::ResultHeader h{};
        h.type = wire::FrameType::kAbort;
        h.message = in_.u8() | in_.number() << 32;
        h.payload_bytes = in_.u16();
        stray();
        const std::string_view text = in_.text(h.payload_bytes);
        deliver(raw(sealed(h, text)));
        return deliver(text);
      }
      case 8:
        stray();
        in_.u8() % 2 ? kernel::end(fd_) : kernel::fail(fd_, ECONNRESET);
        return receive();
      case 9: {
        const uint16_t room = in_.u16();
        if (lane_->open()) kernel::room(fd_, room == 0xffff ? SIZE_MAX : room % 1024);
        return send();
      }
      case 10:
        pace_ = 1 + in_.u8();
        return;
      case 12:
      case 13: {  // who is waited for: between two results, at any time
        wire::ResultHeader h{};
        h.type = wire::FrameType::kWaiting;
        const std::string text(in_.text(in_.u8()));
        h.payload_bytes = static_cast<uint32_t>(text.size());
        h = sealed(h, text);
        if (in_.u8() < 128) {  // with the next result right behind it
          std::string next = next_answer();
          return deliver(std::string(raw(h)) + text + next);
        }
        return deliver(std::string(raw(h)) + text);
      }
      case 11:
        if (in_.u8() < 16) close("the session failed elsewhere");
        return receive();
    }
  }

  void stray() { clean_ = false; }

  void post() {
    if (messages_.size() >= 64) return;
    auto m = std::make_unique<Message>();
    Op& op = m->request.op;
    op.coll = static_cast<Coll>(in_.below(kNumColls));
    op.dtype = DType::kU8;
    op.message = number_ += in_.below(3);
    op.bytes = 1 + in_.u16() % 1000;
    op.own = {0, op.bytes};
    const uint8_t shape = in_.u8();
    if (op.coll != Coll::kAllReduce) {
      op.bytes_per_rank = (op.bytes + kNranks - 1) / kNranks + shape % 32;
      op.window_offset = shape < 128 ? 0 : op.bytes_per_rank * kNranks - op.bytes;
      const uint64_t begin = kRank * op.bytes_per_rank;
      const Range own =
          Range{op.window_offset, op.window_offset + op.bytes}.cut({begin, begin + op.bytes_per_rank});
      op.own = {own.begin - op.window_offset, own.end - op.window_offset};
    }
    Range range{0, op.bytes};  // this lane's slice
    if (shape % 4 == 1) range.begin = in_.u16() % op.bytes;
    if (shape % 4 == 2) range.end -= in_.u16() % op.bytes;
    m->send.resize(op.sends({0, op.bytes}).size());
    m->recv.resize(op.receives({0, op.bytes}).size());
    for (size_t i = 0; i < m->send.size(); ++i) m->send[i] = static_cast<std::byte>(i * 7 + op.message);
    op.send = m->send.data();
    m->said = m->send;
    // In place, as NCCL does it: a result lands where what was sent lies.
    op.recv = op.coll == Coll::kAllReduce && shape / 4 % 2 ? m->send.data() : m->recv.data();
    m->request.remaining.store(1);
    lane_->post({&m->request, range});
    for (uint64_t b = 0; b < Slice{&m->request, range}.blocks(kBlock); ++b)
      blocks_.push_back({m.get(), range, b});
    messages_.push_back(std::move(m));
  }

  void send() {
    for (int i = 0; i < 1000 && lane_->open(); ++i) {
      const Lane::SendOutcome o = lane_->try_send();
      check(o != Lane::SendOutcome::kBusy, "the send token was not given back");
      if (o == Lane::SendOutcome::kBroken) return receive_all(true);
      if (o != Lane::SendOutcome::kMoved) return;
    }
  }

  // The header of the result that is due.
  wire::ResultHeader due() {
    wire::ResultHeader h{};
    h.type = wire::FrameType::kResult;
    if (answered_ == blocks_.size()) return h;
    const Due& d = blocks_[answered_];
    const Range r = d.range_back();
    h.message = d.message->request.op.message;
    h.offset = r.begin;
    h.payload_bytes = static_cast<uint32_t>(r.size());
    return h;
  }
  static std::byte result(const Op& op, uint64_t at) {
    return static_cast<std::byte>(at * 5 + op.message + 1);
  }

  // The right answer to the next block, perhaps before it was sent.
  void answer() { deliver(next_answer()); }
  std::string next_answer() {
    if (answered_ == blocks_.size()) return {};
    if (answered_ >= sent_whole()) stray();
    const wire::ResultHeader h = due();
    const Due& d = blocks_[answered_];
    ++answered_;
    return frame(h, d);
  }
  std::string frame(wire::ResultHeader h, const Due& d) const {
    std::string payload;
    const Range r = d.range_back();
    for (uint64_t at = r.begin; at < r.end; ++at)
      payload += static_cast<char>(result(d.message->request.op, at));
    return std::string(raw(sealed(h, payload))) + payload;
  }
  wire::ResultHeader sealed(wire::ResultHeader h, std::string_view payload) const {
    if (summed_) h.reserved = frame_sum(h, payload.data(), payload.size());
    return h;
  }

  void deliver(std::string_view bytes) {
    for (size_t at = 0; at < bytes.size() && lane_->open(); at += pace_) {
      kernel::deliver(fd_, bytes.substr(at, pace_));
      receive();
    }
  }
  void receive() {
    receive_all(false);
    send();
  }
  void receive_all(bool broken) {
    for (int i = 0; lane_->open(); ++i) {
      check(i < 100000, "the receiver does not come to rest");
      const LaneReceiver::Outcome o = lane_->receive([&](Request* r) { finished(r); });
      if (o == LaneReceiver::Outcome::kNothing && !broken) return;
      if (o == LaneReceiver::Outcome::kMoved || o == LaneReceiver::Outcome::kDrained) continue;
      if (o == LaneReceiver::Outcome::kAborted) {
        check(!lane_->abort_error().text().empty() && lane_->abort_error().text().size() < 4096,
              "an abort without words");
        for (unsigned char c : lane_->abort_error().text())
          check(c >= ' ', "a control character for the log");
      }
      check(!clean_, "a session failed though the reducer kept to the protocol");
      return close("it failed");
    }
  }
  void close(const char* why) {
    stray();
    lane_->close(wire::FrameType::kAbort, wire::AbortCode::kRankLost, why);
  }

  void finished(Request* request) {
    for (auto& m : messages_) {
      if (&m->request != request) continue;
      check(!m->done, "a slice completed twice");
      m->done = true;
      if (!clean_) return;
      const Op& op = request->op;
      for (const Due& d : blocks_)
        if (d.message == m.get())
          for (uint64_t at = d.range_back().begin; at < d.range_back().end; ++at)
            check(*op.target(at) == result(op, at), "a wrong byte in the result");
      return;
    }
    check(false, "an unknown slice completed");
  }

  // Blocks whose payload has left.
  size_t sent_whole() {
    std::string_view sent = kernel::sent(fd_);
    size_t blocks = 0;
    while (blocks < blocks_.size()) {
      const Due& d = blocks_[blocks];
      const size_t head = d.block == 0 ? sizeof(wire::SliceHeader) : 0;
      const size_t part = d.message->request.op.sends(d.range_of()).size();
      const size_t need = head + part + (summed_ && part > 0 ? wire::kSumBytes : 0);
      if (sent.size() < need) break;
      sent.remove_prefix(need);
      ++blocks;
    }
    return blocks;
  }

  void finish() {
    kernel::room(fd_, SIZE_MAX);
    for (size_t i = 0; i < 2 * blocks_.size() + 2; ++i) send(), answer();
    check(clean_, "a block was not sent though the window let it through");
    for (auto& m : messages_) check(m->done, "a slice did not complete");
    check(!lane_->outstanding(), "something is outstanding");
  }

  // Headers in the order of posts, payload as it lies in the send buffer, then at most one last frame.
  void check_sent() {
    std::string_view sent = kernel::sent(fd_);
    uint64_t head_sum = 0;
    for (const Due& d : blocks_) {
      const Op& op = d.message->request.op;
      if (d.block == 0) {
        if (sent.size() < sizeof(wire::SliceHeader)) return;
        wire::SliceHeader h;
        memcpy(&h, sent.data(), sizeof h);
        if (h.type != wire::FrameType::kSlice) break;
        sent.remove_prefix(sizeof h);
        check(h.message == op.message && h.offset == d.range.begin && h.length == d.range.size(),
              "a wrong header");
        head_sum = h.reserved;
        check(head_sum == (summed_ ? header_sum(h) : 0), "a header without its sum");
      }
      const Range r = op.sends(d.range_of());
      for (uint64_t at = r.begin; at < r.end && !sent.empty(); ++at, sent.remove_prefix(1))
        // In place, a reducer that answers too early overwrites what is still to be sent.
        check((!clean_ && op.recv == op.send) ||
                  static_cast<std::byte>(sent[0]) ==
                      d.message->said[static_cast<size_t>(op.source(at) - op.send)],
              "a wrong byte was sent");
      if (!summed_ || r.empty() || sent.empty()) continue;
      uint64_t sum;
      if (sent.size() < sizeof sum) return;
      memcpy(&sum, sent.data(), sizeof sum);
      sent.remove_prefix(sizeof sum);
      check(
          (!clean_ && op.recv == op.send) ||
              sum == part_sum(head_sum, r.begin,
                              &d.message->said[static_cast<size_t>(op.source(r.begin) - op.send)], r.size()),
          "a wrong sum was sent");
    }
    if (sent.empty()) return;
    wire::SliceHeader h;
    if (sent.size() < sizeof h) return;
    memcpy(&h, sent.data(), sizeof h);
    check(h.reserved == (summed_ ? header_sum(h) : 0), "a last header without its sum");
    check(h.type == wire::FrameType::kGoodbye || h.type == wire::FrameType::kAbort,
          "bytes behind the last slice");
    check(sent.size() <= sizeof h + h.text_bytes, "bytes behind the last frame");
  }

  struct Due {
    Message* message;
    Range range;  // of the slice
    uint64_t block;
    Range range_of() const { return Slice{nullptr, range}.block(block, kBlock); }
    Range range_back() const { return message->request.op.receives(range_of()); }
  };

  Input in_;
  const int fd_;
  const uint8_t first_;
  const uint32_t window_;
  const bool summed_;  // with checksums
  std::vector<std::unique_ptr<Message>> messages_;
  std::vector<Due> blocks_;
  std::unique_ptr<Lane> lane_;
  size_t answered_ = 0;
  uint64_t number_ = 0;
  size_t pace_ = SIZE_MAX / 2;
  bool clean_ = true;  // the reducer kept to the protocol so far
};

}  // namespace
}  // namespace fanin::plugin::collnet

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fanin::plugin::collnet::Script(fanin::fuzz::Input(data, size)).run();
  fanin::fuzz::kernel::reset();
  return 0;
}
