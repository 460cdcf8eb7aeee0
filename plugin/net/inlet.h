// One data socket of a receiving side: takes chunks apart and puts them where Postings says.
//
// One read takes the rest of a payload straight into the posted buffer and, behind it, up to kAhead bytes of
// what follows (the next header; small messages whole). One thread; never blocks.
#pragma once
#include <array>
#include <memory>
#include <utility>

#include "plugin/net/postings.h"
#include "transport/stream.h"

namespace fanin::plugin::net {

class Inlet {
 public:
  explicit Inlet(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {}
  const Stream& stream() const { return *stream_; }
  // The peer closed this socket, between chunks.
  bool ended() const { return ended_; }
  // Reads what is there, up to about a MiB, so that one connection does not keep the thread from others.
  Status progress(Postings& postings);

 private:
  static constexpr size_t kAhead = 4096;

  Status take_apart(Postings& postings);

  std::unique_ptr<Stream> stream_;
  Part* part_ = nullptr;  // of the chunk under way
  char* to_ = nullptr;    // where its next byte goes
  size_t left_ = 0;       // bytes of it missing; then nothing is in ahead_
  std::array<char, kAhead> ahead_;
  size_t fill_ = 0;
  bool ended_ = false;
};

}  // namespace fanin::plugin::net
