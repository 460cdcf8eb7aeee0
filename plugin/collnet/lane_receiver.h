// The receiving half of a lane: result blocks straight into the caller's buffers, several per system call.
//
// What comes next is mostly known: for every block a ResultHeader and a payload of known size and place, in order; only
// where the reducer was ahead of the block's end, an all-reduce's block comes in several frames, and a notice of who is
// waited for may come between two frames. receive() scatters one read over headers and payloads as they would lie without
// all that, and then goes through the bytes: a header is checked, payload that landed too far behind, because something
// came before it, is moved to its place. Bytes can only have landed behind their place, never before it, so moving them in
// order loses nothing. Only blocks that have left in full are laid out so; else a buffer of the caller might still be sent
// from where bytes land (in place), and what comes behind the current frame is read aside. An abort frame in between is told
// by its header; its text is collected from wherever it landed: those buffers belong to messages that will never complete.
// With checksums a frame is checked when all of it lies where it belongs.
// In place is safe: a block's result cannot arrive before the block has left.
// Only the lane's I/O thread. Never blocks.
#pragma once
#include <cstdint>
#include <string>

#include "fanin/error.h"
#include "fanin/wire.h"
#include "plugin/collnet/lane_queue.h"
#include "transport/stream.h"

namespace fanin::plugin::collnet {

class LaneReceiver {
 public:
  LaneReceiver(LaneQueue& queue, uint32_t block_bytes, bool checksums = false)
      : queue_(queue), block_bytes_(block_bytes), checksums_(checksums) {}

  enum class Outcome {
    kMoved,    // bytes came; there may be more
    kDrained,  // bytes came and the socket is empty now
    kNothing,  // the socket was empty
    kClosed,   // the connection ended or failed: os_error() or 0
    kAborted,  // the reducer ended the session or broke the protocol: error()
  };
  // One scattered read. `finished` is called for every slice whose result is complete, after the queue has
  // let go of it.
  template <class Finished>
  Outcome receive(Stream& stream, Finished&& finished) {
    const uint32_t before = slice_;
    const Outcome outcome = read_some(stream);
    for (uint32_t i = before; i != slice_; ++i) {
      Request* request = queue_.at(i).request;
      queue_.set_received(i + 1);
      if (!damaged_) finished(request);
    }
    return outcome;
  }

  // kAborted for a damaged result: what follows can still be received, for the window's sake, but finishes nothing.
  bool damaged() const { return damaged_; }

  // True, and *text, when the reducer has told since the last call whom this lane waits for.
  bool take_notice(std::string* text);

  int os_error() const { return os_error_; }
  const Error& error() const { return error_; }
  wire::AbortCode abort_code() const { return abort_code_; }  // kAborted

 private:
  static constexpr uint32_t kHeaderBytes = sizeof(wire::ResultHeader);
  // A block whose result is awaited.
  struct Position {
    uint32_t slice = 0;
    uint64_t block = 0;  // within the slice
  };

  Outcome read_some(Stream& stream);
  Outcome read_abort_text(Stream& stream);
  Outcome take(const iovec* pieces, int n, size_t bytes);
  bool header_done(const wire::ResultHeader& header);
  void frame_done();
  bool intact(const wire::ResultHeader& h, const void* payload, const char* what);
  Range payload(Position p) const;
  Position next(Position p) const;
  void begin_abort(const wire::ResultHeader& header);
  void finish_abort();
  Outcome broken(std::string what);

  LaneQueue& queue_;
  const uint64_t block_bytes_;
  const bool checksums_;

  uint32_t slice_ = 0;         // == queue_.received() between calls
  uint64_t block_ = 0;         // of that slice
  uint64_t blocks_total_ = 0;  // completed in the lane's life
  uint32_t header_got_ = 0;    // bytes of header_ received
  uint64_t block_got_ = 0;     // bytes of the block's payload that earlier frames brought
  uint64_t payload_got_ = 0;   // bytes of the frame's payload received
  wire::ResultHeader header_{};

  std::string notice_;  // as far as it came
  wire::ResultHeader notice_head_{};
  uint32_t notice_left_ = 0;

  bool damaged_ = false;
  bool aborting_ = false;
  wire::ResultHeader abort_{};
  wire::AbortCode abort_code_ = wire::AbortCode::kProtocol;
  std::string abort_text_;  // as far as it came
  int os_error_ = 0;
  Error error_{Errc::kInternal, ""};
};

}  // namespace fanin::plugin::collnet
