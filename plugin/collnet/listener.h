// What listen made: this rank's rendezvous port on its NIC, and the job's secret as it was then. Used by one service thread at a
// time. node: all NICs that NCCL may use, which outlive this.
#pragma once
#include <optional>
#include <span>

#include "fanin/secret.h"
#include "plugin/collnet/handle.h"
#include "plugin/net/device.h"
#include "transport/fd.h"

namespace fanin::plugin::collnet {

class Listener {
 public:
  Listener(NetDevice device, Fd fd, const Handle& handle, Result<std::optional<Secret>> secret,
           std::span<const NetDevice> node)
      : device_(std::move(device)),
        fd_(std::move(fd)),
        handle_(handle),
        secret_(std::move(secret)),
        node_(node) {}
  const NetDevice& device() const { return device_; }
  std::span<const NetDevice> node() const { return node_; }
  int fd() const { return fd_.get(); }
  const Handle& handle() const { return handle_; }  // that describes it
  // Error: it cannot be read.
  const Result<std::optional<Secret>>& secret() const { return secret_; }

 private:
  NetDevice device_;
  Fd fd_;
  Handle handle_;
  Result<std::optional<Secret>> secret_;
  std::span<const NetDevice> node_;
};

}  // namespace fanin::plugin::collnet
