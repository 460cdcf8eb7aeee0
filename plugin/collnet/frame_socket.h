// A connected non-blocking socket that carries rendezvous frames, sealed or not. One thread.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "fanin/error.h"
#include "plugin/collnet/frame_seal.h"
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

  // From now on: frames of that many bytes of body at most, and every frame sealed.
  void limit(uint32_t max_body) { max_body_ = max_body; }
  void seal(FrameSeal seal) { seal_.emplace(std::move(seal)); }
  // The body of the frame that is arriving, as far as it is here.
  std::string_view arriving() const;

  // What has arrived so far, without waiting: a frame, nothing yet (null), or an error: the peer closed, this is no
  // rendezvous frame, or its seal is wrong.
  Result<std::optional<Frame>> poll_frame();
  // After poll_frame's error: the version of a peer that speaks another one.
  std::optional<uint16_t> other_version() const { return other_version_; }
  // Waits for a whole frame.
  Result<Frame> receive(Deadline deadline);
  Status send(RendezvousType type, const std::string& body, Deadline deadline);

 private:
  Fd fd_;
  std::string in_;  // less than one frame
  uint32_t max_body_ = kMaxBody;
  std::optional<FrameSeal> seal_;
  std::optional<uint16_t> other_version_;
};

}  // namespace fanin::plugin::collnet
