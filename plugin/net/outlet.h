// One data socket of a sending side, with at most one chunk under way. One thread; never blocks.
#pragma once
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <memory>
#include <utility>

#include "plugin/net/frames.h"
#include "transport/stream.h"

namespace fanin::plugin::net {

class SendRequest;

class Outlet {
 public:
  explicit Outlet(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {}
  const Stream& stream() const { return *stream_; }
  bool idle() const { return owner_ == nullptr; }
  SendRequest* owner() const { return owner_; }

  // Bytes the kernel holds for this socket that the peer has not acknowledged: how late another chunk would
  // be.
  size_t backlog() const {
    int bytes = 0;
    return ::ioctl(stream_->fd(), SIOCOUTQ, &bytes) == 0 && bytes > 0 ? static_cast<size_t>(bytes) : 0;
  }

  // Idle outlets only. The payload must stay until the chunk is out.
  void load(const Chunk& chunk, const char* payload, SendRequest* owner) {
    chunk_ = chunk;
    payload_ = payload;
    sent_ = 0;
    owner_ = owner;
  }

  // Writes once. True when the whole chunk is in the kernel: the outlet is idle again.
  bool push(IoResult* result) {
    size_t header_left = sent_ < sizeof(Chunk) ? sizeof(Chunk) - sent_ : 0;
    size_t done = sent_ - (sizeof(Chunk) - header_left);  // of the payload
    iovec iov[2] = {{reinterpret_cast<char*>(&chunk_) + sent_, header_left},
                    {const_cast<char*>(payload_) + done, chunk_.length - done}};
    int first = header_left ? 0 : 1, last = chunk_.length > done ? 2 : 1;
    *result = stream_->writev(iov + first, last - first);
    if (result->moved()) sent_ += result->bytes;
    if (sent_ < sizeof(Chunk) + chunk_.length) return false;
    owner_ = nullptr;
    return true;
  }

 private:
  std::unique_ptr<Stream> stream_;
  Chunk chunk_;
  const char* payload_ = nullptr;
  size_t sent_ = 0;  // of header and payload together
  SendRequest* owner_ = nullptr;
};

}  // namespace fanin::plugin::net
