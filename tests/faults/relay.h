// A byte-level TCP relay between workers and reducers, in a process of its own, that delays, stalls, cuts and
// tears traffic as ordered.
//
// In its own process because the driver forks: a child that inherited a relayed socket would keep it open. The
// process ends with this object, and with the driver. Orders are obeyed when order() returns.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "tests/faults/relay_order.h"
#include "transport/fd.h"

namespace fanin::faults {

class Relay {
 public:
  // One port in front of each of these ports, all on loopback.
  explicit Relay(const std::vector<uint16_t>& upstream);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  const std::vector<uint16_t>& ports() const { return ports_; }
  std::string address(size_t i) const { return "127.0.0.1:" + std::to_string(ports_[i]); }
  std::string list() const;  // for FANIN_REDUCERS
  void order(const RelayOrder& order);
  // Whether the last order's connection has been hit.
  bool struck();
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  Fd control_;
  std::vector<uint16_t> ports_;
  bool struck_ = false;
};

}  // namespace fanin::faults
