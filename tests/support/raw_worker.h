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
#include <vector>

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
  explicit RawWorker(const tcp::Address& reducer);

  // A Hello with everything in order, to be changed at will.
  static wire::Hello hello(wire::SessionId session, uint32_t rank, uint32_t nranks, uint32_t lane = 0,
                           uint64_t window_bytes = 1 << 20);
  static wire::SessionId session(uint8_t tag);
  // Sends the Hello and reads the answer; its sentence is in refusal().
  wire::Welcome greet(const wire::Hello& hello);
  // greet, expecting to be admitted.
  wire::Welcome join(const wire::Hello& hello);
  const std::string& refusal() const { return refusal_; }
  const wire::Welcome& welcome() const { return welcome_; }

  static wire::SliceHeader all_reduce(uint64_t message, uint64_t bytes, DType type = DType::kF32,
                                      RedOp op = RedOp::kSum);
  static wire::SliceHeader goodbye();

  void send(const void* data, size_t bytes);
  template <class T>
  void send(const T& frame) {
    send(&frame, sizeof frame);
  }
  void send(std::span<const std::byte> data) { send(data.data(), data.size()); }
  // Sends as much as goes without waiting; for peers that do not read. Returns the bytes taken.
  size_t try_send(const void* data, size_t bytes);

  // The next frame; nothing when the reducer closed the connection (or reset it).
  std::optional<Frame> next();
  // Reads frames until an abort, skipping results.
  Frame expect_abort();
  void expect_closed();  // reads and skips whatever comes before the end

  // Sends `out`, while reading frames until `frames` of them are in.
  std::vector<Frame> exchange(std::span<const std::byte> out, size_t frames);

  int fd() const { return fd_.get(); }
  void shut() { fd_.reset(); }
  void reset();  // closes with RST

 private:
  bool read_exactly(void* data, size_t bytes);
  bool parse(std::vector<Frame>* frames);

  Fd fd_;
  wire::Welcome welcome_{};
  std::string refusal_;
  Bytes pending_;  // received by exchange, not a whole frame yet
};

}  // namespace fanin::test
