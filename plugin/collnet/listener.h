// What listen made: this rank's rendezvous port on its NIC. Used by one service thread at a time.
#pragma once
#include "plugin/net/device.h"
#include "transport/fd.h"

namespace fanin::plugin::collnet {

class Listener {
 public:
  Listener(NetDevice device, Fd fd) : device_(std::move(device)), fd_(std::move(fd)) {}
  const NetDevice& device() const { return device_; }
  int fd() const { return fd_.get(); }

 private:
  NetDevice device_;
  Fd fd_;
};

}  // namespace fanin::plugin::collnet
