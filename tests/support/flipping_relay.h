// A network that damages: relays connections on loopback to one address and, when armed, turns over one bit that passes. Or that
// is slow.
//
// One thread of its own until destroyed, which closes all connections.
#pragma once
#include <atomic>
#include <cstdint>
#include <list>
#include <thread>
#include <vector>

#include "transport/fd.h"
#include "transport/tcp/address.h"
#include "transport/wake.h"

namespace fanin::test {

class FlippingRelay {
 public:
  enum class Way : int { kNone, kToReducer, kToWorker };
  explicit FlippingRelay(const tcp::Address& to);
  ~FlippingRelay();
  const tcp::Address& address() const { return address_; }

  // Of the bytes that one connection carries this way from now on, number `at`: the first connection to come so far. Once.
  void flip(Way way, uint64_t at);
  bool flipped() const { return flipped_.load(); }
  // Takes no connection while on, and lets the kernel queue as few as it can.
  void hold(bool on);
  // What all connections carry together, both ways. 0: what they can.
  void pace(uint64_t bytes_per_second) { pace_ = bytes_per_second; }

 private:
  struct Pipe {
    int from, to;
    Way way;
    uint64_t passed = 0;  // since it was armed last
    uint32_t armed = 0;
    std::vector<char> buffer;
    size_t begin = 0;
    bool ended = false;
  };
  void run();
  void accept();
  void pump(Pipe& pipe);
  void damage(Pipe& pipe);

  const tcp::Address to_;
  Fd listener_;
  tcp::Address address_;
  Wake wake_;
  std::list<Fd> fds_;
  std::list<Pipe> pipes_;
  std::atomic<Way> way_{Way::kNone};
  std::atomic<uint64_t> at_{0}, pace_{0};
  std::atomic<uint32_t> armed_{0};
  std::atomic<bool> flipped_{false}, stop_{false}, hold_{false};
  std::thread thread_;
};

}  // namespace fanin::test
