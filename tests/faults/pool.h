// The driver's reducers: real fanin-reducer processes at fixed ports of all addresses, restarted where a fault took them, watched for
// leaks.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/faults/scenario.h"
#include "tests/support/footprint.h"
#include "tests/support/held_port.h"
#include "tests/support/process.h"

namespace fanin::faults {

class Pool {
 public:
  Pool();
  size_t size() const { return reducers_.size(); }
  test::ReducerProcess& operator[](size_t i) { return *reducers_[i]; }
  test::ReducerProcess& last() { return *reducers_.back(); }
  std::vector<uint16_t> ports() const { return ports_; }
  // For FANIN_REDUCERS; host: the address under which workers know this host.
  std::string list(const std::string& host) const;

  // Starts every reducer that has ended again, at its address.
  void revive();
  // "" or what a reducer still holds some time after its last session ended.
  std::string leaks();
  // Growth of the memory of the reducer that was never restarted, since the third call.
  std::string growth();
  // The ends of the reducers' logs.
  std::string story() const;

 private:
  std::unique_ptr<test::ReducerProcess> start(size_t i) const;

  std::vector<test::HeldPort> held_;  // while a reducer is down
  std::vector<uint16_t> ports_;
  std::vector<std::unique_ptr<test::ReducerProcess>> reducers_;
  std::vector<test::Footprint> idle_;  // when started
  size_t looks_ = 0, resident_kib_ = 0;
};

}  // namespace fanin::faults
