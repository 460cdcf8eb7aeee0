// One worker connection to one reducer lane, spoken by hand: a blocking TCP client of wire.h for tests of the
// reducer.
//
// Every call that waits is bounded (10 s) and fails the current test with what it waited for; tests never
// sleep to synchronise. One thread per worker. Streams several frames in and out by one call (exchange), as a
// plugin would.
#pragma once
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "fanin/secret.h"
#include "fanin/wire.h"
#include "transport/fd.h"
#include "transport/tcp/address.h"

namespace fanin::test {

using Bytes = std::vector<std::byte>;

// A frame from the reducer.
struct Frame {
  wire::ResultHeader head{};
  Bytes payload;  // or the abort's text
  std::string text() const {
    return std::string(reinterpret_cast<const char*>(payload.data()), payload.size());
  }
  wire::AbortCode code() const { return static_cast<wire::AbortCode>(head.message & 0xffffffff); }
  uint32_t about() const { return static_cast<uint32_t>(head.message >> 32); }
};

class RawWorker {
 public:
  // from: the address to come from, where it matters.
  explicit RawWorker(const tcp::Address& reducer, const std::optional<tcp::Address>& from = {});

  // A Hello with everything in order, to be changed at will.
  static wire::Hello hello(wire::SessionId session, uint32_t rank, uint32_t nranks, uint32_t lane = 0,
                           uint64_t window_bytes = 1 << 20);
  static wire::SessionId session(uint8_t tag);
  // Sends the Hello and reads the answer; its sentence is in refusal().
  wire::Welcome greet(const wire::Hello& hello);
  // greet, expecting to be admitted.
  wire::Welcome join(const wire::Hello& hello);
  // The Hello of a worker that has this secret, and the answer to its challenge; false when the reducer did not prove
  // the secret where it has to.
  static wire::Hello hello_with(const Secret& secret, wire::Hello hello);
  wire::Welcome answer(const Secret& secret);
  wire::Welcome send_proof(const wire::Proof& proof);
  bool reducer_proved() const { return reducer_proved_; }
  const std::string& refusal() const { return refusal_; }
  const wire::Welcome& welcome() const { return welcome_; }

  static wire::SliceHeader all_reduce(uint64_t message, uint64_t bytes, DType type = DType::kF32,
                                      RedOp op = RedOp::kSum);
  static wire::SliceHeader goodbye();

  void send(const void* data, size_t bytes);
  template <class T>
  requires std::is_trivially_copyable_v<T> &&
      (!std::is_convertible_v<T, std::span<const std::byte>>)void send(const T& frame) {
    send(&frame, sizeof frame);
  }
  void send(std::span<const std::byte> data) { send(data.data(), data.size()); }
  // Sends as much as goes without waiting; for peers that do not read. Returns the bytes taken.
  size_t try_send(const void* data, size_t bytes);

  // Frames so far that did not end their block; what next and exchange give out are whole blocks.
  size_t parts() const { return parts_; }
  // The next frame; nothing when the reducer closed the connection (or reset it).
  std::optional<Frame> next();
  std::optional<Frame> next_part();  // as it came, blocks divided
  // Reads frames until an abort, skipping results.
  Frame expect_abort();
  void expect_closed();  // reads and skips whatever comes before the end

  // Cuts a slice into what goes out per block: the header with the first, then each block's payload (maybe
  // empty), taken from `window`, the memory of the message's window.
  void append(std::vector<Bytes>* blocks, const wire::SliceHeader& slice, const std::byte* window) const;
  // Sends the blocks as far as the window allows, and reads a result for each.
  std::vector<Frame> exchange(std::span<const Bytes> blocks);

  int fd() const { return fd_.get(); }
  void shut() { fd_.reset(); }
  void reset();  // closes with RST

 private:
  void read_welcome();
  bool read_exactly(void* data, size_t bytes);
  bool parse(std::vector<Frame>* frames);
  bool join_parts(Frame* f);

  Fd fd_;
  wire::Hello hello_{};
  wire::Welcome welcome_{};
  bool reducer_proved_ = false;
  uint32_t rank_ = 0;
  std::string refusal_;
  Bytes pending_;  // received by exchange, not a whole frame yet
  Frame begun_;    // a block of which more is to come
  size_t parts_ = 0;
};

}  // namespace fanin::test
