// Move-only epoll instance. add/modify/remove and wait belong to the loop's thread. The tag given to add
// comes back in Event::tag; level-triggered unless EPOLLET is asked for.
#pragma once
#include <sys/epoll.h>

#include <cerrno>
#include <span>

#include "fanin/error.h"
#include "transport/fd.h"

namespace fanin {

class Epoll {
 public:
  static Result<Epoll> make() {
    Fd fd(::epoll_create1(EPOLL_CLOEXEC));
    if (!fd) return system_error("epoll_create1", errno);
    return Epoll(std::move(fd));
  }
  Status add(int fd, uint32_t events, void* tag) { return control(EPOLL_CTL_ADD, fd, events, tag); }
  Status modify(int fd, uint32_t events, void* tag) { return control(EPOLL_CTL_MOD, fd, events, tag); }
  int fd() const { return fd_.get(); }  // readable when wait() has something
  void remove(int fd) { ::epoll_ctl(fd_.get(), EPOLL_CTL_DEL, fd, nullptr); }
  // Fills events; a signal counts as nothing happened. timeout_ms as epoll_wait (-1: for ever).
  std::span<epoll_event> wait(std::span<epoll_event> events, int timeout_ms) {
    int n = ::epoll_wait(fd_.get(), events.data(), static_cast<int>(events.size()), timeout_ms);
    return events.first(n > 0 ? static_cast<size_t>(n) : 0);
  }

 private:
  explicit Epoll(Fd fd) : fd_(std::move(fd)) {}
  Status control(int op, int fd, uint32_t events, void* tag) {
    epoll_event e{};
    e.events = events;
    e.data.ptr = tag;
    if (::epoll_ctl(fd_.get(), op, fd, &e) != 0) return system_error("epoll_ctl", errno);
    return {};
  }
  Fd fd_;
};

}  // namespace fanin
