// One direction of one connection between a kernel and its peer (another device's kernel, or NCCL's proxy
// thread).
//
// Simple protocol: data in step buffers, `tail` says what was sent and `head` what was consumed. LL: lines of
// {data, flag, data, flag}, 4 bytes each, whose flag is step + 1. A sending link starts with head = -8, which
// wraps: eight free steps. One thread at a time; the peer runs concurrently.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/nccl/device/kernel/abi.h"

namespace cpudev {

class Link {
 public:
  enum class Direction { kSend, kRecv };
  // ll_lines: lines per step with LL, 0 with Simple. Starts at the next multiple of steps_per_chunk and,
  // receiving with Simple, returns the credit skipped.
  Link(abi::ConnInfo* conn, Direction direction, int steps_per_chunk, size_t ll_lines);

  // Whether `steps` are free (send) or filled (recv).
  bool ready(int steps);
  // Where the current step's data is, with Simple.
  char* slot() const;
  // Hands `steps` on; bytes: what was put into them (send).
  void post(int steps, int64_t bytes);
  // Writes the step back for the next kernel.
  void save() { conn_->step = step_; }

  // LL: plain() is the current step without flags, 8 bytes a line.
  std::vector<uint64_t>& plain() { return plain_; }
  bool lines_ready(size_t lines);  // recv; fills plain()
  void lines_done();
  void send_lines(size_t lines);  // from plain()

 private:
  bool enough(int steps) const;
  uint64_t* line(size_t i) const;

  abi::ConnInfo* conn_;
  Direction direction_;
  uint64_t step_, seen_ = 0;
  size_t step_lines_, scanned_ = 0;
  std::vector<uint64_t> plain_;
};

}  // namespace cpudev
