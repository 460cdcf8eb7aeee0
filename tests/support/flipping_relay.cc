#include "tests/support/flipping_relay.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>

#include "transport/tcp/socket.h"

namespace fanin::test {
namespace {

constexpr size_t kPiece = 64 << 10;

template <class T>
T need(Result<T> r) {
  if (!r) abort();
  return *std::move(r);
}

}  // namespace

FlippingRelay::FlippingRelay(const tcp::Address& to)
    : to_(to),
      listener_(need(tcp::listen_on(tcp::Address::loopback(0)))),
      address_(need(tcp::local_address(listener_.get()))),
      wake_(need(Wake::make())),
      thread_([this] { run(); }) {}

FlippingRelay::~FlippingRelay() {
  stop_ = true;
  wake_.notify();
  thread_.join();
}

void FlippingRelay::flip(Way way, uint64_t at) {
  flipped_ = false;
  at_ = at;
  way_ = way;
  ++armed_;
}

void FlippingRelay::hold(bool on) {
  hold_ = on;
  ::listen(listener_.get(), on ? 0 : 1024);
  wake_.notify();
}

void FlippingRelay::run() {
  while (!stop_) {
    std::vector<pollfd> p{{wake_.fd(), POLLIN, 0}, {hold_ ? -1 : listener_.get(), POLLIN, 0}};
    for (Pipe& pipe : pipes_)
      p.push_back(pipe.begin < pipe.buffer.size() ? pollfd{pipe.to, POLLOUT, 0}
                                                  : pollfd{pipe.ended ? -1 : pipe.from, POLLIN, 0});
    ::poll(p.data(), p.size(), -1);
    if (p[0].revents != 0) wake_.drain();
    size_t i = 2;
    for (Pipe& pipe : pipes_)
      if (p[i++].revents != 0) pump(pipe);
    if (p[1].revents != 0) accept();
  }
}

void FlippingRelay::accept() {
  Fd in(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  Fd out(::socket(to_.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!in || ::connect(out.get(), to_.sa(), to_.length()) != 0) return;
  pipes_.push_back({in.get(), out.get(), Way::kToReducer, 0, 0, {}, 0, false});
  pipes_.push_back({out.get(), in.get(), Way::kToWorker, 0, 0, {}, 0, false});
  fds_.push_back(std::move(in));
  fds_.push_back(std::move(out));
}

void FlippingRelay::pump(Pipe& pipe) {
  if (pipe.begin == pipe.buffer.size()) {
    pipe.buffer.resize(kPiece);
    pipe.begin = 0;
    const ssize_t n = ::recv(pipe.from, pipe.buffer.data(), pipe.buffer.size(), MSG_DONTWAIT);
    pipe.buffer.resize(n > 0 ? static_cast<size_t>(n) : 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
      pipe.ended = true;
      ::shutdown(pipe.to, SHUT_WR);
      return;
    }
    damage(pipe);
  }
  const ssize_t n = ::send(pipe.to, pipe.buffer.data() + pipe.begin, pipe.buffer.size() - pipe.begin,
                           MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n > 0) pipe.begin += static_cast<size_t>(n);
  if (const uint64_t pace = pace_; n > 0 && pace != 0)
    std::this_thread::sleep_for(std::chrono::nanoseconds(static_cast<uint64_t>(n) * 1'000'000'000 / pace));
  if (n < 0 && errno != EAGAIN && errno != EINTR) pipe.begin = pipe.buffer.size();
}

void FlippingRelay::damage(Pipe& pipe) {
  const uint32_t armed = armed_;
  if (pipe.armed != armed) pipe.armed = armed, pipe.passed = 0;
  const uint64_t at = at_;
  if (pipe.way == way_ && !flipped_ && at >= pipe.passed && at - pipe.passed < pipe.buffer.size()) {
    pipe.buffer[at - pipe.passed] ^= 0x10;
    flipped_ = true;
  }
  pipe.passed += pipe.buffer.size();
}

}  // namespace fanin::test
