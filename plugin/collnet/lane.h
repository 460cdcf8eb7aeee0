// A worker's connection to one reducer lane: stream, queue, both halves, and the token that guards the
// sending one.
//
// Who may do what: the progress thread posts; anyone may try_send, the token lets one in at a time; only the
// owning I/O thread receives, closes and looks at the clock. The stream may be written and read by two
// threads at once.
#pragma once
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "plugin/collnet/lane_queue.h"
#include "plugin/collnet/lane_receiver.h"
#include "plugin/collnet/lane_sender.h"
#include "plugin/fork_guard.h"
#include "transport/deadline.h"
#include "transport/stream.h"
#include "transport/thread_checker.h"

namespace fanin::plugin::collnet {

// What the handshake established about a connection to one lane.
struct LaneConnection {
  std::unique_ptr<Stream> stream;
  std::string reducer;  // as configured, "reducer-0.pool:4000"
  uint32_t lane = 0;    // of that reducer
  uint32_t block_bytes = 0, window_blocks = 0;
  bool checksums = false;
};

class Lane {
 public:
  // cppcheck-suppress passedByValue ; its stream moves in
  explicit Lane(LaneConnection c)
      : reducer_(c.reducer),
        name_("reducer " + c.reducer + " lane " + std::to_string(c.lane)),
        stream_(std::move(c.stream)),
        guard_(std::in_place, stream_->fd()),
        sender_(queue_, c.block_bytes, c.window_blocks, c.checksums),
        receiver_(queue_, c.block_bytes, c.checksums) {}

  const std::string& name() const { return name_; }
  const std::string& reducer() const { return reducer_; }
  int fd() const { return stream_->fd(); }

  // Progress thread.
  void post(const Slice& slice) { queue_.post(slice); }
  bool nothing_to_send() const { return queue_.sent() == queue_.posted(); }

  // Any thread. kBusy: another thread is sending; it wakes the I/O thread if it leaves something behind.
  enum class SendOutcome { kIdle, kMoved, kFull, kBroken, kBusy };
  // kStep: a part of what is there, for whoever serves several lanes by turns.
  enum class Pace { kAll, kStep };
  SendOutcome try_send(Pace pace = Pace::kAll) {
    if (token_.test_and_set(std::memory_order_acquire)) return SendOutcome::kBusy;
    const SendOutcome r =
        stream_ ? outcome(sender_.send(*stream_, pace == Pace::kAll ? UINT64_MAX : sender_.step()))
                : SendOutcome::kIdle;
    token_.clear(std::memory_order_seq_cst);
    return r;
  }

  // I/O thread.
  template <class Finished>
  LaneReceiver::Outcome receive(Finished&& finished) {
    receiving_.check();
    return receiver_.receive(*stream_, finished);
  }
  // Work for try_send, as far as this thread can know: not while another holds the token.
  bool send_ready() {
    if (token_.test_and_set(std::memory_order_seq_cst)) return false;
    const bool ready = stream_ && sender_.ready();
    token_.clear(std::memory_order_seq_cst);
    return ready;
  }
  // I/O thread, after a failure: sends on in the slice that was begun, and takes results as far as they still come. True
  // once a farewell can be said, or never.
  bool end_frame() {
    receiving_.check();
    if (token_.test_and_set(std::memory_order_acquire)) return false;
    const bool going =
        stream_ && !sender_.at_boundary() && sender_.send_rest(*stream_) != LaneSender::Outcome::kBroken;
    const bool ended = !going || sender_.at_boundary();
    token_.clear(std::memory_order_seq_cst);
    if (!ended && receiver_.damaged()) receiver_.receive(*stream_, [](Request*) {});
    return ended;
  }
  bool take_notice() { return receiver_.take_notice(&awaited); }
  uint64_t blocks_received() const { return queue_.blocks_received(); }
  // Where in the session's bytes this lane's next unsent byte lies; UINT64_MAX: nothing is left to send.
  uint64_t position() const { return nothing_to_send() ? UINT64_MAX : sender_.position(); }
  bool outstanding() const { return queue_.received() != queue_.posted(); }
  uint32_t messages_outstanding() const { return queue_.posted() - queue_.received(); }
  const Error& abort_error() const { return receiver_.error(); }
  wire::AbortCode abort_code() const { return receiver_.abort_code(); }
  int os_error() const { return receiver_.os_error() != 0 ? receiver_.os_error() : sender_.error(); }
  bool open() const { return stream_ != nullptr; }
  std::chrono::milliseconds unanswered() const {
    return stream_ ? stream_->unanswered() : std::chrono::milliseconds(0);
  }

  // Says why, if the stream is between two frames, and closes the connection. Nobody sends or receives
  // afterwards.
  void close(wire::FrameType type, wire::AbortCode code, const std::string& text) {
    while (token_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
    if (stream_) sender_.farewell(*stream_, type, code, text);
    if (stream_ && code == wire::AbortCode::kDamaged) await_end();
    guard_.reset();
    stream_.reset();
    token_.clear(std::memory_order_release);
  }

  // Owned by the I/O thread: what the socket is known to be good for.
  bool readable = true, writable = true, hung_up = false;
  std::chrono::steady_clock::time_point last_progress{};
  bool was_outstanding = false;
  bool lost = false;        // its end has been told
  uint64_t ended_last = 0;  // messages on several lanes of which it brought the last slice
  bool told_stalled = false;
  bool only_notice = false;                         // what moved last was no progress
  std::chrono::steady_clock::time_point look_at{};  // when to ask the kernel next whether the host answers
  std::string awaited;  // whom the reducer says this lane waits for; until the next progress

 private:
  static SendOutcome outcome(LaneSender::Outcome o) {
    switch (o) {
      case LaneSender::Outcome::kMoved:
        return SendOutcome::kMoved;
      case LaneSender::Outcome::kFull:
        return SendOutcome::kFull;
      case LaneSender::Outcome::kBroken:
        return SendOutcome::kBroken;
      case LaneSender::Outcome::kIdle:
        break;
    }
    return SendOutcome::kIdle;
  }

  // A connection that is closed with bytes unread is reset, and what was said last may be lost with it; of damage nobody else
  // knows. Reads on until the reducer, which has heard it, ends the connection, at most a second.
  void await_end() {
    ::shutdown(stream_->fd(), SHUT_WR);
    const Deadline until = Deadline::after(std::chrono::milliseconds(1000));
    std::array<std::byte, 16384> scrap;
    const iovec into{scrap.data(), scrap.size()};
    for (IoResult r = stream_->readv(&into, 1); !r.broken() && !until.passed();
         r = stream_->readv(&into, 1)) {
      pollfd readable{stream_->fd(), POLLIN, 0};
      if (r.would_block()) ::poll(&readable, 1, until.poll_ms());
    }
  }

  const std::string reducer_, name_;
  ThreadChecker receiving_{"the receiving half of a lane"};
  LaneQueue queue_;
  std::atomic_flag token_ = ATOMIC_FLAG_INIT;
  std::unique_ptr<Stream> stream_;
  std::optional<ForkGuard> guard_;  // of the stream's descriptor
  LaneSender sender_;
  LaneReceiver receiver_;
};

}  // namespace fanin::plugin::collnet
