// The reducer's side of a session: what ranks send after the handshake, in any order and cut anywhere.
//
// The input is a script: ranks join, send slices, payload and arbitrary bytes, leave, vanish, stop reading; time passes.
// A real LaneSession with its Members serves them, as Lane::run does. Checked besides memory: every rank gets whole frames
// only; all seats and sockets are given back; and while everyone keeps to the protocol, every result bit is right.
#include <sys/epoll.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <vector>

#include "fanin/checksum.h"
#include "reducer/handshake.h"
#include "reducer/lane_session.h"
#include "reducer/member.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/kernel.h"
#include "transport/tcp/tcp_stream.h"

namespace fanin::reducer {
namespace {

using fuzz::check;
using fuzz::Input;
using fuzz::raw;
namespace kernel = fuzz::kernel;

constexpr uint32_t kBlocks[] = {128, 16384};  // many blocks in a message, or one that is long on its way
constexpr uint32_t kMaxRanks = 4;
constexpr uint32_t kWindow = 4;         // blocks
constexpr uint64_t kMaxSent = 1 << 16;  // bytes one script may make a rank send

class Script {
 public:
  explicit Script(Input in)
      : in_(in),
        first_(in_.u8()),
        nranks_(1 + first_ % kMaxRanks),
        block_(kBlocks[first_ >= 192]),
        summed_(first_ / 4 % 4 == 3),
        table_({1, block_, uint64_t{64} << 20, 100}),
        epoll_(Epoll::make()),
        lane_(config(block_), table_, 0, *std::move(epoll_), counters_),
        ranks_(nranks_) {
    lane_.now = LaneContext::Clock::time_point(std::chrono::hours(1));
  }

  void run() {
    for (uint32_t joined = 0, n = in_.below(nranks_ + 1); joined < n; ++joined) join(joined);
    for (int steps = 0; !in_.done() && steps < 400; ++steps) step();
    if (clean_) check_results();
    for (Rank& r : ranks_)
      if (r.fd >= 0 && kernel::is_open(r.fd)) kernel::end(r.fd), kernel::room(r.fd, SIZE_MAX);
    turns();
    pass(std::chrono::hours(2));
    pass(std::chrono::hours(2));
    check(!session_, "the session outlives its ranks");
    check(table_.counts().connections == 0 && table_.counts().memory_used == 0, "a seat was not given back");
    for (const Rank& r : ranks_) check_frames(r);
  }

 private:
  struct Rank {
    int fd = -1;
    std::string wire;  // sent, not delivered yet
    uint64_t total = 0;
    std::string expected;  // results, while clean
  };

  static const ReducerConfig& config(uint32_t block) {
    static const auto make = [](uint32_t bytes) {
      ReducerConfig c;
      c.block_bytes = bytes;
      c.timeout = std::chrono::milliseconds(1000);
      c.stall = std::chrono::milliseconds(100);
      c.log = [](std::string_view line) { check(line.size() < 8192, "a log line without end"); };
      return c;
    };
    static const ReducerConfig both[] = {make(kBlocks[0]), make(kBlocks[1])};
    return both[block == kBlocks[1]];
  }

  // ---- What the ranks do

  void step() {
    switch (in_.below(14)) {
      case 0:
        return say(any_rank(), in_.text(in_.u8())), stray();
      case 1: {  // one header, to some ranks
        wire::SliceHeader h = sealed(slice());
        for_some([&](uint32_t r) { say(r, raw(h)); });
        return stray();
      }
      case 2: {  // payload
        const size_t bytes = in_.u16() % 2048;
        for_some([&](uint32_t r) { say(r, std::string(bytes, '\1')); });
        return stray();
      }
      case 3:
      case 4:
      case 5:
        return message(slice());
      case 6: {  // a header with a byte changed
        wire::SliceHeader h = sealed(slice());
        const uint32_t at = in_.below(sizeof h);
        const uint8_t change = in_.u8();
        reinterpret_cast<uint8_t*>(&h)[at] ^= change;
        say(any_rank(), raw(change % 8 == 0 ? sealed(h) : h));
        return stray();
      }
      case 7: {
        const uint32_t r = any_rank();
        const uint16_t room = in_.u16();
        if (open(r)) kernel::room(ranks_[r].fd, room == 0xffff ? SIZE_MAX : room);
        return turns();
      }
      case 8: {
        const uint32_t r = any_rank();
        if (open(r)) in_.u8() % 2 ? kernel::end(ranks_[r].fd) : kernel::fail(ranks_[r].fd, ECONNRESET);
        stray();
        return turns();
      }
      case 9:
        return pass(std::chrono::milliseconds(in_.u16() % 3000));
      case 10: {
        wire::SliceHeader h{};
        h.type = wire::FrameType::kGoodbye;
        say(any_rank(), raw(sealed(h)));
        return stray();
      }
      case 11: {
        wire::SliceHeader h{};
        h.type = wire::FrameType::kAbort;
        h.message = in_.number();
        h.text_bytes = static_cast<uint32_t>(in_.number());
        const uint32_t r = any_rank();
        say(r, raw(sealed(h)));
        say(r, in_.text(in_.u8()));
        return stray();
      }
      case 12:
        return join(any_rank());
      case 13:
        pace_ = 1 + in_.u8();
        return;
    }
  }

  uint32_t any_rank() { return in_.below(nranks_); }
  bool open(uint32_t r) const { return ranks_[r].fd >= 0 && kernel::is_open(ranks_[r].fd); }
  void stray() { clean_ = false; }
  template <class Do>
  void for_some(Do&& act) {
    const uint8_t mask = in_.u8();
    for (uint32_t r = 0; r < nranks_; ++r)
      if (mask >> r & 1) act(r);
  }

  wire::SliceHeader slice() {
    wire::SliceHeader h{};
    h.type = wire::FrameType::kSlice;
    h.coll = static_cast<Coll>(in_.below(kNumColls));
    const uint8_t kind = in_.u8();
    h.dtype = kind < 128 ? DType::kU8 : static_cast<DType>(kind % kNumDTypes);
    h.op = static_cast<RedOp>(kind / 16 % kNumRedOps);
    h.message = message_ += in_.u8() % 3;
    const uint8_t shape = in_.u8();
    const size_t element = dtype_size(h.dtype);
    if (shape < 200) {  // possible
      h.message_bytes = element * (1 + in_.u16() % 1024);
      if (shape % 2) h.offset = element * (in_.u16() % (h.message_bytes / element));
      h.length = h.message_bytes - h.offset;
      if (h.coll != Coll::kAllReduce) {
        h.bytes_per_rank = (h.message_bytes + nranks_ - 1) / nranks_ + shape / 8;
        if (shape % 4 == 2) h.window_offset = h.bytes_per_rank * nranks_ - h.message_bytes;
      }
    } else {
      h.message_bytes = in_.number();
      h.offset = in_.number();
      h.length = in_.number();
      h.bytes_per_rank = in_.number();
      h.window_offset = in_.number();
    }
    return h;
  }

  wire::SliceHeader sealed(wire::SliceHeader h) const {
    if (summed_) h.reserved = header_sum(h);
    return h;
  }

  // A whole slice from every rank, window by window.
  void message(const wire::SliceHeader& h) {
    const bool possible = check_slice(h, nranks_) && h.length <= 8192;
    bool all_here = true;
    for (uint32_t r = 0; r < nranks_; ++r) all_here &= open(r) && ranks_[r].total < kMaxSent;
    const bool plain = possible && all_here && h.dtype == DType::kU8;
    if (clean_ && plain) expect(h);
    if (!plain) stray();
    if (!possible) return for_some([&](uint32_t r) { say(r, raw(sealed(h))); });
    for (uint32_t r = 0; r < nranks_; ++r) say(r, raw(sealed(h)));
    for (uint64_t b = 0; b < block_count(h, block_); ++b) {
      if (++outstanding_ > kWindow) drain();  // the window rule
      for (uint32_t r = 0; r < nranks_; ++r) {
        const Part part = sent_part(h, b, block_, r);
        std::string bytes(part.bytes, static_cast<char>(value(h.message, r)));
        if (summed_ && part.bytes > 0) {
          const uint64_t at = h.offset + b * block_ + part.begin;
          bytes += raw(part_sum(sealed(h).reserved, at, bytes.data(), part.bytes));
        }
        say(r, bytes);
      }
    }
  }
  static uint8_t value(uint64_t message, uint32_t rank) {
    return static_cast<uint8_t>(message * 7 + rank * 3 + 1);
  }

  void expect(const wire::SliceHeader& h) {
    uint8_t v = value(h.message, 0);
    for (uint32_t r = 1; r < nranks_; ++r) {
      const uint8_t x = value(h.message, r);
      v = h.op == RedOp::kSum    ? static_cast<uint8_t>(v + x)
          : h.op == RedOp::kProd ? static_cast<uint8_t>(v * x)
          : h.op == RedOp::kMax  ? std::max(v, x)
                                 : std::min(v, x);
    }
    for (Rank& rank : ranks_)
      for (uint64_t b = 0; b < block_count(h, block_); ++b) {
        const auto r = static_cast<uint32_t>(&rank - ranks_.data());
        if (h.coll != Coll::kAllGather)
          rank.expected.append(result_part(h, b, block_, r).bytes, static_cast<char>(v));
        else
          for (uint32_t q = 0; q < nranks_; ++q)
            rank.expected.append(owned_part(h, b, block_, q).bytes, static_cast<char>(value(h.message, q)));
      }
  }

  // ---- The network and the lane

  void join(uint32_t rank) {
    wire::Hello hello{};
    hello.preamble = {wire::kMagic, wire::kVersion, sizeof hello};
    hello.session.fill(7);
    hello.rank = rank;
    hello.nranks = nranks_;
    hello.window_bytes = kWindow * block_;
    hello.capabilities = summed_ ? wire::kChecksums : 0;
    if (ranks_[rank].fd >= 0) return;
    check(!check_hello(hello, 1), "a proper hello is refused");
    Admission a = table_.admit(hello, "10.0.0.7:4000");
    if (!a.session) return stray();
    if (!session_) {
      const SessionTable::Past past = table_.past(a.session, 0);
      Result<std::unique_ptr<LaneSession>> made = LaneSession::make(lane_, a.session, past);
      check(static_cast<bool>(made), "no memory");
      session_ = *std::move(made);
      if (past.broken) session_->abort(past.broken->code, past.broken->rank, past.broken->text);
    }
    const int fd = kernel::socket();
    ranks_[rank].fd = fd;
    session_->join(std::make_unique<tcp::TcpStream>(Fd(fd)), rank);
    session_->pump();
    turns();
  }

  void say(uint32_t r, std::string_view bytes) {
    Rank& rank = ranks_[r];
    if (!open(r) || rank.total > kMaxSent) return;
    rank.total += bytes.size();
    for (size_t at = 0; at < bytes.size(); at += pace_) {
      kernel::deliver(rank.fd, bytes.substr(at, pace_));
      turns();
    }
  }

  void pass(std::chrono::milliseconds time) {
    lane_.now += time;
    if (session_) session_->check_timeouts();
    stray();
    turns();
  }

  // As Lane::run, until nothing moves.
  void turns() {
    for (int i = 0;; ++i) {
      check(i < 20000, "the lane does not come to rest");
      bool any = false;
      for (Rank& r : ranks_) {
        const uint32_t e = r.fd < 0 ? 0 : kernel::events(r.fd);
        if (!e) continue;
        any = true;
        Member& m = *static_cast<Member*>(kernel::tag(r.fd));
        if (m.closed()) continue;
        LaneSession& session = m.session();
        m.on_event(e);
        session.pump();
      }
      lane_.closed.clear();
      if (session_ && session_->empty()) session_.reset();
      if (!any) return;
    }
  }

  // ---- What the ranks got

  // Whole frames, and nothing after an abort.
  std::string payload(const Rank& r, bool* aborted) {
    std::string out;
    *aborted = false;
    if (r.fd < 0) return out;
    std::string_view sent = kernel::sent(r.fd);
    while (sent.size() >= sizeof(wire::ResultHeader)) {
      check(!*aborted, "bytes behind an abort");
      wire::ResultHeader h;
      memcpy(&h, sent.data(), sizeof h);
      sent.remove_prefix(sizeof h);
      *aborted = h.type == wire::FrameType::kAbort;
      const bool result = h.type == wire::FrameType::kResult;
      check(*aborted || result || h.type == wire::FrameType::kWaiting, "an unknown frame");
      check(h.payload_bytes <= (result ? block_ : wire::kMaxText), "an impossible header");
      const bool whole = sent.size() >= h.payload_bytes;
      check(h.reserved == (summed_ && whole ? frame_sum(h, sent.data(), h.payload_bytes) : 0) ||
                (summed_ && !whole),
            "a wrong sum behind a header");
      check(!summed_ || !h.more, "a divided block with checksums");
      if (result) out.append(sent.substr(0, h.payload_bytes));
      sent.remove_prefix(std::min<size_t>(sent.size(), h.payload_bytes));
    }
    return out;
  }
  void check_frames(const Rank& r) {
    bool aborted;
    payload(r, &aborted);
  }
  // Everyone takes what is there for it.
  void drain() {
    for (Rank& r : ranks_)
      if (r.fd >= 0 && kernel::is_open(r.fd)) kernel::room(r.fd, SIZE_MAX);
    turns();
    outstanding_ = 1;
  }
  void check_results() {
    drain();
    for (const Rank& r : ranks_) {
      bool aborted;
      const std::string got = payload(r, &aborted);
      check(!aborted, "a clean session was aborted");
      check(got == r.expected, "a wrong sum");
    }
  }

  Input in_;
  const uint8_t first_;
  const uint32_t nranks_, block_;
  const bool summed_;  // with checksums
  SessionTable table_;
  LaneCounters counters_;
  Result<Epoll> epoll_;
  LaneContext lane_;
  std::unique_ptr<LaneSession> session_;
  std::vector<Rank> ranks_;
  uint64_t message_ = 0;
  uint32_t outstanding_ = 0;  // blocks since all results were taken, at most
  size_t pace_ = SIZE_MAX / 2;
  bool clean_ = true;  // everyone kept to the protocol so far
};

}  // namespace
}  // namespace fanin::reducer

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fanin::reducer::Script(fanin::fuzz::Input(data, size)).run();
  fanin::fuzz::kernel::reset();
  return 0;
}
