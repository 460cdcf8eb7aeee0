// The one small interface byte movers implement: a connected, ordered, non-blocking byte stream.
//
// Used by reducer lanes (reducer/), worker lanes (plugin/collnet/) and the point-to-point net (plugin/net/);
// tcp/ is the implementation. A stream may be used by two threads at once if one only reads and the other
// only writes. It never blocks and never raises SIGPIPE.
#pragma once
#include <sys/uio.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace fanin {

// Outcome of one read or write.
struct IoResult {
  enum class Kind { kBytes, kWouldBlock, kClosed, kFailed } kind;
  size_t bytes = 0;  // kBytes: moved, at least 1
  int err = 0;       // kFailed: errno
  bool moved() const { return kind == Kind::kBytes; }
  bool would_block() const { return kind == Kind::kWouldBlock; }
  bool broken() const { return kind == Kind::kClosed || kind == Kind::kFailed; }
};

class Stream {
 public:
  virtual ~Stream() = default;
  virtual IoResult readv(const iovec* iov, int n) = 0;
  virtual IoResult writev(const iovec* iov, int n) = 0;
  virtual int fd() const = 0;                   // for epoll; stays owned by the stream
  virtual const std::string& peer() const = 0;  // "10.0.0.7:4000", for messages
  // For how long the peer's host has answered nothing though it was asked; zero while it does, or cannot be told.
  virtual std::chrono::milliseconds unanswered() const { return {}; }
  // Bytes per second that the peer has lately been seen to take; zero: not known.
  virtual uint64_t rate() const { return 0; }
};

}  // namespace fanin
