// One rank's connection to one lane-session: takes its byte stream apart into blocks and sends its results.
//
// Reading: one readv scatters into what is left of the current block, the following blocks of the slice as
// far as the window reaches, the next slice header, and (when slices are small) a little beyond it, so that a
// small message costs one system call and a large one a call per many blocks. A rank whose window is full is
// not read; if it sends payload nevertheless, it broke the protocol. A block of which the rank owns nothing
// (all-gather) needs no bytes and only waits for the window; should the rank end its side meanwhile, what it
// said last is read to tell a goodbye from a death. Writing: one writev gathers the headers and
// payloads of many results, straight from the shared result buffers. EPOLLOUT is armed only while the socket
// is full.
//
// Lane's thread only. Any call may end with the member closed (closed()); the object lives until the end of
// the turn.
#pragma once
#include <cstddef>
#include <memory>
#include <string>

#include "fanin/wire.h"
#include "reducer/lane_session.h"
#include "transport/stream.h"

namespace fanin::reducer {

class Member {
 public:
  Member(LaneSession& session, std::unique_ptr<Stream> stream, uint32_t rank);

  Status watch();                  // adds the connection to the lane's epoll
  void on_event(uint32_t events);  // what epoll reported
  void flush();                    // sends what is there to send, as far as the socket takes it
  void resume();                   // goes on reading where the window stopped it, if it has opened
  void notify(
      const std::string& frame);  // sends a frame between two results, unless one is on its way already
  void begin_abort(const std::string& frame);
  void detach();  // off epoll; closed() from now on

  bool closed() const { return closed_; }
  bool ending() const { return ending_; }
  bool writable_awaited() const { return want_out_; }
  bool stalled() const { return stalled_; }
  uint32_t rank() const { return rank_; }
  const std::string& peer() const { return stream_->peer(); }
  uint64_t written() const { return written_; }
  std::chrono::milliseconds unanswered() const { return stream_->unanswered(); }
  bool has_output() const {
    return written_ < session_.complete() ||
           (written_ == session_.complete() && out_begin_ < session_.reduced() && !departed_);
  }
  // Bytes of block `pos` of the stream that are in; `pos` has been opened.
  uint32_t delivered_of(uint64_t pos) const {
    return pos_ > pos ? UINT32_MAX : pos_ == pos && entered_ ? static_cast<uint32_t>(got_) : 0;
  }
  LaneSession& session() { return session_; }

  LaneContext::Clock::time_point last_read, last_write;  // progress; last_write also: when output appeared
  LaneContext::Clock::time_point end_by;                 // ending: closed then whatever the peer does

 private:
  enum class Phase { kHeader, kPayload, kText, kDiscard };

  void read_some();
  bool read_once(size_t* budget);
  void read_stalled();
  void read_last_words();
  void write_failed(const std::string& how);
  void discard();
  void consume(size_t bytes);
  void feed_ahead();
  void on_header();
  void on_text();
  void next_slice();
  void advance();
  void protocol_error(const std::string& what);
  bool intact();
  std::byte* sum_place(uint64_t pos) { return reinterpret_cast<std::byte*>(&sums_[pos % kSums]); }
  void update_interest();
  size_t block_bytes() const;

  LaneSession& session_;
  std::unique_ptr<Stream> stream_;
  const uint32_t rank_;

  // Reading.
  Phase phase_ = Phase::kHeader;
  size_t have_ = 0;             // bytes of the header or text
  wire::SliceHeader header_{};  // being read, then of the current slice as this rank said it
  uint64_t slices_ = 0;         // headers taken so far
  Slice* slice_ = nullptr;
  uint64_t index_ = 0;    // of the current block in the slice
  uint64_t pos_ = 0;      // of the current block in the stream
  bool entered_ = false;  // the current block's part_, into_ and got_ are set
  Part part_{};
  std::byte* into_ = nullptr;
  size_t got_ = 0;
  size_t need_ = 0;             // of got_: the part and, with checksums, its sum
  bool stalled_ = false;        // the current block waits for the window
  bool stalled_empty_ = false;  // … and needs no bytes: what follows may be here already, legitimately
  std::string text_;
  // With checksums: of the header of the current slice; and what came behind the parts of the blocks being read.
  static constexpr uint32_t kSums = 32;
  uint64_t head_sum_ = 0;
  std::unique_ptr<uint64_t[]> sums_;
  // What was read beyond a header.
  static constexpr size_t kAhead = 8192;
  size_t ahead_begin_ = 0, ahead_end_ = 0;
  bool read_ahead_ = true;
  bool deaf_ = false;  // stalled_empty_ and ahead_ is full: the end of the stream is looked for later
  bool departed_ =
      false;  // all it will ever say is in ahead_, and ends in a goodbye; it takes no results any more
  std::unique_ptr<std::byte[]> ahead_;

  // Writing.
  uint64_t written_ = 0;    // results sent in full
  uint32_t out_begin_ = 0;  // bytes of result written_ that went in earlier frames
  uint32_t out_bytes_ = 0;  // payload of the frame being sent, while out_off_ > 0
  size_t out_off_ = 0;      // bytes of it that were sent, header included
  std::string notice_;      // goes between two frames
  size_t notice_off_ = 0;
  std::string tail_;  // abort frame, after the frame being sent
  size_t tail_off_ = 0;

  bool want_out_ = false;
  uint32_t interest_ = 0;
  bool ending_ = false;  // sends tail_, then reads to the end
  bool shut_ = false;
  bool closed_ = false;
};

}  // namespace fanin::reducer
