// The receiving half of a lane: result blocks straight into the caller's buffers, several per system call.
//
// What comes next is known: for every block offered to the reducer a ResultHeader and a payload of known size
// and place, in order. receive() scatters one read over the next headers and payloads and then checks the
// headers. An abort frame in between is told by its header; its text then lies where payload was expected,
// and is collected from there: the buffers belong to messages that will never complete, so nothing is lost. So it is with
// a notice of who is waited for; the results after it are moved to where they belong.
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
  LaneReceiver(LaneQueue& queue, uint32_t block_bytes) : queue_(queue), block_bytes_(block_bytes) {}

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
      finished(request);
    }
    return outcome;
  }

  // True, and *text, when the reducer has told since the last call whom this lane waits for.
  bool take_notice(std::string* text);

  int os_error() const { return os_error_; }
  const Error& error() const { return error_; }

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
  void block_done();
  Range payload(Position p) const;
  Position next(Position p) const;
  void begin_abort(const wire::ResultHeader& header);
  void finish_abort();
  Outcome broken(std::string what);

  LaneQueue& queue_;
  const uint64_t block_bytes_;

  uint32_t slice_ = 0;         // == queue_.received() between calls
  uint64_t block_ = 0;         // of that slice
  uint64_t blocks_total_ = 0;  // completed in the lane's life
  uint32_t header_got_ = 0;    // bytes of header_ received
  uint64_t payload_got_ = 0;   // bytes of the block's payload received
  wire::ResultHeader header_{};

  std::string notice_;  // as far as it came
  uint32_t notice_left_ = 0;

  bool aborting_ = false;
  wire::ResultHeader abort_{};
  std::string abort_text_;  // as far as it came
  int os_error_ = 0;
  Error error_{Errc::kInternal, ""};
};

}  // namespace fanin::plugin::collnet
