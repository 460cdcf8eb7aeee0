#include "reducer/council.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace fanin::reducer {

Result<Council> Council::make(std::chrono::milliseconds patience) {
  Result<Epoll> epoll = Epoll::make();
  if (!epoll) return epoll.error();
  return Council(*std::move(epoll), patience);
}

void Council::take(Fd fd, const wire::Hello& hello) {
  auto self = silent_.emplace(silent_.end());
  self->self = self;
  self->fd = std::move(fd);
  self->name = {hello.session, hello.nranks, hello.key};
  self->deadline = Deadline::after(patience_);
  if (!epoll_.add(self->fd.get(), EPOLLIN, &*self)) silent_.erase(self);
}

void Council::turn() {
  epoll_event events[64];
  for (const epoll_event& e : epoll_.wait(events, 0))
    if (auto* question = static_cast<Question*>(e.data.ptr); question->fd) read(*question);
  while (!silent_.empty() && silent_.front().deadline.passed()) drop(silent_.front());
  while (!gatherings_.empty() && gatherings_.front().deadline.passed()) answer(gatherings_.begin(), false);
  ended_.clear();
}

Deadline Council::due() const {
  Deadline due = silent_.empty() ? Deadline::never() : silent_.front().deadline;
  return gatherings_.empty() ? due : due.sooner(gatherings_.front().deadline);
}

void Council::drop(Question& q) {
  q.fd.reset();
  ended_.splice(ended_.end(), silent_, q.self);
}

void Council::read(Question& q) {
  const bool asked = q.have == sizeof q.ask;
  char more;
  char* const to = asked ? &more : reinterpret_cast<char*>(&q.ask) + q.have;
  const ssize_t n = ::recv(q.fd.get(), to, asked ? 1 : sizeof q.ask - q.have, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (asked) {
    // Gone, or it talks on: either way it is told nothing more. It stays counted: it has asked, and knows that it has.
    q.fd.reset();
    return;
  }
  if (n > 0) q.have += static_cast<size_t>(n);
  const wire::Preamble expected{wire::kMagic, wire::kVersion, sizeof q.ask};
  const bool so_far = memcmp(&q.ask, &expected, std::min(q.have, sizeof expected)) == 0;
  const bool whole = q.have == sizeof q.ask;
  if (n <= 0 || !so_far ||
      (whole && (q.ask.measured > 1 || (q.ask.measured == 1 && !q.ask.figures.possible()))))
    return drop(q);
  if (whole) count(q);
}

void Council::count(Question& q) {
  asked_.splice(asked_.end(), silent_, q.self);
  auto [entry, first] = by_name_.try_emplace(q.name);
  if (first) {
    entry->second = gatherings_.emplace(gatherings_.end());
    entry->second->name = q.name;
    entry->second->deadline = Deadline::after(patience_);
    entry->second->answer.preamble = {wire::kMagic, wire::kVersion, sizeof(wire::FiguresAnswer)};
  }
  Gathering& all = *entry->second;
  all.asked.push_back(q.self);
  if (q.ask.measured == 1) {
    wire::PoolFigures& f = all.answer.figures;
    const wire::PoolFigures& one = q.ask.figures;
    if (all.answer.measured++ == 0) {
      f = one;
    } else {
      f.small_us = std::max(f.small_us, one.small_us);
      f.chunk_us = std::max(f.chunk_us, one.chunk_us);
      f.pool_rate = std::min(f.pool_rate, one.pool_rate);
      f.link_rate = std::min(f.link_rate, one.link_rate);
    }
  }
  if (all.asked.size() == std::get<uint32_t>(q.name)) answer(entry->second, true);
}

void Council::answer(std::list<Gathering>::iterator g, bool agreed) {
  wire::FiguresAnswer a = g->answer;
  a.agreed = agreed;
  if (!agreed) {
    a.measured = 0;
    a.figures = {};
  }
  for (const auto& q : g->asked) {
    // The first bytes into an empty socket buffer but for the handshake's: they fit, or the connection is dead.
    if (q->fd) ::send(q->fd.get(), &a, sizeof a, MSG_NOSIGNAL | MSG_DONTWAIT);
    q->fd.reset();
    ended_.splice(ended_.end(), asked_, q);
  }
  by_name_.erase(g->name);
  gatherings_.erase(g);
}

}  // namespace fanin::reducer
