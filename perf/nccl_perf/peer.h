// One connection between two processes of a run: whole messages of up to 16 MiB over TCP.
//
// send may be called by any one thread at a time, receive by another. Both block, with a limit on silence in
// mid-message so that a stopped peer does not stop us; the descriptor itself is non-blocking.
#pragma once
#include <cstdint>
#include <string>

#include "fanin/error.h"
#include "transport/deadline.h"
#include "transport/fd.h"

namespace fanin::nccl_perf {

enum class MessageKind : uint32_t {
  kData = 1,     // one process's part of an exchange, or all parts
  kFailure = 2,  // text: the run is over, for this reason
  kGoodbye = 3,  // the process ends, as planned
};

struct Message {
  MessageKind kind;
  std::string body;
};

class Peer {
 public:
  explicit Peer(Fd fd) : fd_(std::move(fd)) {}
  Status send(MessageKind kind, const std::string& body);
  Result<Message> receive();
  int fd() const { return fd_.get(); }

 private:
  Fd fd_;
};

Status write_all(int fd, const void* data, size_t size, Deadline deadline);
Status read_all(int fd, void* data, size_t size, Deadline deadline);

}  // namespace fanin::nccl_perf
