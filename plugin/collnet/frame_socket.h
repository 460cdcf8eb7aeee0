// A connected non-blocking socket that carries rendezvous frames. One thread.
#pragma once
#include <optional>
#include <string>

#include "fanin/error.h"
#include "plugin/collnet/rendezvous_wire.h"
#include "transport/deadline.h"
#include "transport/fd.h"

namespace fanin::plugin::collnet {

class FrameSocket {
 public:
  struct Frame {
    RendezvousType type{};
    std::string body;
  };
  explicit FrameSocket(Fd fd) : fd_(std::move(fd)) {}
  int fd() const { return fd_.get(); }

  // What has arrived so far, without waiting: a frame, nothing yet (null), or an error: the peer closed, or
  // this is no rendezvous frame.
  Result<std::optional<Frame>> poll_frame();
  // Waits for a whole frame.
  Result<Frame> receive(Deadline deadline);
  Status send(RendezvousType type, const std::string& body, Deadline deadline);

 private:
  Fd fd_;
  std::string in_;  // less than one frame
};

}  // namespace fanin::plugin::collnet
