#include "tests/faults/relay_loop.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "transport/tcp/socket.h"

namespace fanin::faults {

void RelayLoop::run() {
  for (;;) {
    auto now = Conduit::Clock::now();
    std::vector<pollfd> fds{{control_.get(), POLLIN, 0}};
    for (Fd& l : listeners_) fds.push_back({l.get(), POLLIN, 0});
    auto wake = now + std::chrono::seconds(1);
    for (Pair& p : pairs_)
      for (Conduit* c : {&p.up, &p.down}) {
        fds.push_back(c->interest(now));
        if (auto due = c->due(); due && *due > now) wake = std::min(wake, *due);
      }
    auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(wake - now).count();
    timespec patience{left / 1'000'000'000, left % 1'000'000'000};
    ::ppoll(fds.data(), fds.size(), &patience, nullptr);
    if (fds[0].revents != 0) {
      RelayOrder order;
      if (::recv(control_.get(), &order, sizeof order, 0) != sizeof order) return;
      obey(order);
    }
    now = Conduit::Clock::now();
    for (auto it = pairs_.begin(); it != pairs_.end();)
      it = pump(*it, now) ? pairs_.erase(it) : std::next(it);
    for (size_t i = 0; i < listeners_.size(); ++i)
      if (fds[1 + i].revents != 0) accept(i);
  }
}

void RelayLoop::obey(const RelayOrder& order) {
  using What = RelayOrder::What;
  order_.reset();
  fresh_ = 0;
  for (Pair& p : pairs_) {
    p.marked = false;
    p.up.release(), p.down.release();
  }
  treatment_ = {order.what == What::kDelay ? order.delay_us : 0, order.what == What::kCrumbs,
                Dice(order.seed)};
  if (order.what != What::kPass && order.what != What::kDelay && order.what != What::kCrumbs) {
    order_ = order;
    if (!order.fresh && !pairs_.empty()) mark(*std::next(pairs_.begin(), order.connection % pairs_.size()));
  }
  [[maybe_unused]] ssize_t n = ::send(control_.get(), &kTaken, 1, MSG_NOSIGNAL);
}

void RelayLoop::mark(Pair& pair) {
  pair.marked = true;
  pair.conduit(order_->flow).set_trap(order_->at_byte);
}

void RelayLoop::accept(size_t i) {
  for (;;) {
    Result<Fd> worker = tcp::accept_from(listeners_[i].get());
    if (!worker || !*worker) return;
    Fd reducer(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    tcp::Address to = tcp::Address::loopback(upstream_[i]);
    if (!reducer || ::connect(reducer.get(), to.sa(), to.length()) != 0) {
      linger hard{1, 0};  // as the reducer's host would have answered, or nearly
      setsockopt(worker->get(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
      continue;
    }
    (void)tcp::tune(worker->get());
    (void)tcp::tune(reducer.get());
    int w = worker->get(), r = reducer.get();
    pairs_.push_back({*std::move(worker), std::move(reducer), Conduit(w, r), Conduit(r, w), false});
    if (order_ && order_->fresh && fresh_++ == order_->connection) mark(pairs_.back());
  }
}

bool RelayLoop::pump(Pair& pair, Conduit::Clock::time_point now) {
  bool over = true;
  for (Conduit* c : {&pair.up, &pair.down}) {
    Conduit::End end = c->pump(treatment_, now);
    if (end == Conduit::End::kBroken) return reset(pair);
    over &= end == Conduit::End::kClosed;
  }
  if (over) return true;
  return pair.marked && order_ && pair.conduit(order_->flow).trapped() && strike(pair);
}

bool RelayLoop::strike(Pair& pair) {
  RelayOrder order = *order_;
  order_.reset();
  pair.marked = false;
  [[maybe_unused]] ssize_t n = ::send(control_.get(), &kStruck, 1, MSG_NOSIGNAL);
  switch (order.what) {
    case RelayOrder::What::kReset:
      return reset(pair);
    case RelayOrder::What::kHalfClose:
      pair.conduit(order.flow).end();
      return false;
    case RelayOrder::What::kStall:
      pair.conduit(order.flow).stall();
      return false;
    default:
      return true;
  }
}

bool RelayLoop::reset(Pair& pair) {
  linger hard{1, 0};
  setsockopt(pair.worker.get(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  setsockopt(pair.reducer.get(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  return true;
}

}  // namespace fanin::faults
