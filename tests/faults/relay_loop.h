// The relay's process: accepts, connects on, pumps all conduits, obeys orders. One thread, poll-based: a few dozen
// connections at most.
#pragma once
#include <list>
#include <optional>
#include <vector>

#include "tests/faults/conduit.h"
#include "transport/fd.h"

namespace fanin::faults {

class RelayLoop {
 public:
  // What the relay answers on the control socket: an order was taken in, or its connection was hit.
  static constexpr char kTaken = 'T', kStruck = 'S';

  RelayLoop(Fd control, std::vector<Fd> listeners, std::vector<uint16_t> upstream)
      : control_(std::move(control)), listeners_(std::move(listeners)), upstream_(std::move(upstream)) {}
  // Until the driver's end of the control socket is closed.
  void run();

 private:
  struct Pair {
    Fd worker, reducer;
    Conduit up, down;
    bool marked = false;  // the order is about this one
    Conduit& conduit(Flow f) { return f == Flow::kUp ? up : down; }
  };
  void obey(const RelayOrder& order);
  void accept(size_t i);
  void mark(Pair& pair);
  // True when the pair is gone.
  bool pump(Pair& pair, Conduit::Clock::time_point now);
  bool strike(Pair& pair);
  static bool reset(Pair& pair);

  Fd control_;
  std::vector<Fd> listeners_;
  std::vector<uint16_t> upstream_;
  std::list<Pair> pairs_;
  std::optional<RelayOrder> order_;  // about one connection, not yet carried out
  uint32_t fresh_ = 0;               // connections accepted since the order
  Treatment treatment_;
};

}  // namespace fanin::faults
