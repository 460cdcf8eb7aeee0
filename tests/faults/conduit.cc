#include "tests/faults/conduit.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace fanin::faults {

pollfd Conduit::interest(Clock::time_point now) const {
  if (stalled_ || ended_ || trapped()) return {-1, 0, 0};
  if (begin_ == end_) return {from_, POLLIN, 0};
  return {now >= ready_at_ ? to_ : -1, POLLOUT, 0};
}

std::optional<Conduit::Clock::time_point> Conduit::due() const {
  if (stalled_ || ended_ || trapped() || begin_ == end_) return std::nullopt;
  return ready_at_;
}

void Conduit::end() {
  if (!ended_) ::shutdown(to_, SHUT_WR);
  ended_ = true;
}

Conduit::End Conduit::pump(Treatment& treatment, Clock::time_point now) {
  if (ended_) return End::kClosed;
  if (stalled_ || trapped()) return End::kNone;
  if (begin_ == end_ && !at_end_) {
    ssize_t n = ::recv(from_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (n < 0) return errno == EAGAIN || errno == EINTR ? End::kNone : End::kBroken;
    if (n == 0) at_end_ = true;
    begin_ = 0;
    end_ = static_cast<size_t>(n);
    ready_at_ = now;
    if (n > 0 && treatment.delay_us > 0)
      ready_at_ +=
          microseconds(treatment.dice.between(treatment.delay_us / 2, treatment.delay_us * 3ull / 2));
  }
  if (begin_ < end_ && now >= ready_at_) {
    size_t take = end_ - begin_;
    if (treatment.crumbs) take = std::min<size_t>(take, treatment.dice.octaves(1, 2000));
    if (trap_) take = std::min<size_t>(take, *trap_ - passed_);
    ssize_t n = ::send(to_, buffer_.data() + begin_, take, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0) return errno == EAGAIN || errno == EINTR ? End::kNone : End::kBroken;
    begin_ += static_cast<size_t>(n);
    passed_ += static_cast<uint64_t>(n);
  }
  if (begin_ == end_ && at_end_) {
    end();
    return End::kClosed;
  }
  return End::kNone;
}

}  // namespace fanin::faults
