// Wakes a thread that sleeps in epoll or poll: an eventfd. notify() from any thread and from signal handlers;
// drain() on the sleeping thread.
#pragma once
#include <sys/eventfd.h>

#include <cerrno>
#include <cstdint>

#include "fanin/error.h"
#include "transport/fd.h"

namespace fanin {

class Wake {
 public:
  static Result<Wake> make() {
    Fd fd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    if (!fd) return system_error("eventfd", errno);
    return Wake(std::move(fd));
  }
  int fd() const { return fd_.get(); }
  void notify() const {
    uint64_t one = 1;
    [[maybe_unused]] ssize_t n = ::write(fd_.get(), &one, sizeof one);  // full counter: already awake
  }
  void drain() const {
    uint64_t count;
    [[maybe_unused]] ssize_t n = ::read(fd_.get(), &count, sizeof count);
  }

 private:
  explicit Wake(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace fanin
