// The driver's own network: a namespace of its own, so that nobody else's traffic or ports are touched, and for each
// rank a namespace behind a link that can be cut or made to lose one direction.
//
// Made once, from the driver's only thread, before it starts anything. Without the right to make namespaces, or
// without `ip` and `nft`, links() is false and the rest works on the host's loopback.
#pragma once
#include <string>
#include <vector>

#include "tests/faults/scenario.h"
#include "transport/fd.h"

namespace fanin::faults {

class Network {
 public:
  Network();
  bool links() const { return why_not_.empty(); }
  const std::string& why_not() const { return why_not_; }

  // The driver's side of all links: where ranks behind links find the pool.
  static constexpr const char* kHost = "10.77.0.1";
  // In a rank's process: moves the calling thread, and those it starts later, behind its link. Sockets it has stay
  // where they were made.
  void enter(int rank) const;
  void set_link(int rank, bool up);
  // Loses everything the rank sends (kUp) or is sent (kDown).
  void set_loss(int rank, Flow flow, bool on);
  // All links up, nothing lost.
  void heal();

 private:
  std::string isolate();
  std::string make_link(int rank);
  void settle() const;
  // A shell command here or behind the rank's link; false when it fails.
  static bool here(const std::string& command);
  bool behind(int rank, const std::string& command) const;

  std::string why_not_;
  Fd own_;
  std::vector<Fd> ranks_;
  bool disturbed_ = false;
};

}  // namespace fanin::faults
