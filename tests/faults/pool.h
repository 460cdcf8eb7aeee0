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
#include "transport/tcp/address.h"

namespace fanin::faults {

class Pool {
 public:
  explicit Pool(const Patience& patience);
  size_t size() const { return reducers_.size(); }
  test::ReducerProcess& operator[](size_t i) { return *reducers_[i].process; }
  test::ReducerProcess& last() { return *reducers_.back().process; }
  std::vector<uint16_t> ports() const { return ports_; }
  // For FANIN_REDUCERS; host: the address under which workers know this host.
  std::string list(const std::string& host) const;

  // Starts every reducer that has ended again, at its address.
  void revive();
  // "" or what a reducer still holds some time after its last session ended: descriptors, threads, sessions, their memory.
  std::string leaks();
  // "" or which reducer's memory has grown by more than a good one's since it has settled. Once after every run.
  std::string growth();
  // Asks every reducer to end, as a user would, and waits; "" or who did not end well. Under AddressSanitizer that is also
  // who has lost memory.
  std::string end();
  // The ends of the reducers' logs.
  std::string story() const;

 private:
  struct Reducer {
    std::unique_ptr<test::ReducerProcess> process;
    tcp::Address status;   // of its status port
    test::Footprint idle;  // when started
    size_t looks = 0;      // of growth()
    size_t settled_kib = 0;
    // "" or what it has that an idle one has not.
    std::string held() const;
  };
  Reducer start(size_t i) const;

  const milliseconds timeout_;
  std::vector<test::HeldPort> held_;  // while a reducer is down
  std::vector<uint16_t> ports_;
  std::vector<Reducer> reducers_;
};

}  // namespace fanin::faults
