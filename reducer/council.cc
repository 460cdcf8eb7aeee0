#include "reducer/council.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace fanin::reducer {
namespace {

constexpr wire::FiguresAnswer kNone{
    {wire::kMagic, wire::kVersion, sizeof(wire::FiguresAnswer)}, 0, 0, {0, 0, 0, 0}};

// The first bytes into an empty socket buffer but for the handshake's: they fit, or the connection is dead.
void tell(const Visitor& q, const wire::FiguresAnswer& a) {
  ::send(q.fd.get(), &a, sizeof a, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

void Council::take(Fd fd, const tcp::Address& from, const wire::Hello& hello) {
  const PeerKey key = peer_key(from);
  if (questions_.size_of(key) >= limits_.questions_of_peer)
    crowd_out(questions_.oldest_of(key),
              "was its address's oldest question for figures (--max-half-open-per-address)");
  else if (questions_.size() >= limits_.questions)
    make_room("was the oldest question for figures of the address that had most (--max-half-open)");
  Question& q = questions_.add(std::move(fd), from, Deadline::after(limits_.patience));
  q.name = {hello.session, hello.nranks, hello.key};
  if (Status s = epoll_.add(q.fd.get(), EPOLLIN, &q); !s)
    end(q, GuestEnd::kCrowdedOut, "cannot be watched: " + s.error().text());
}

void Council::turn() {
  epoll_event events[64];
  for (const epoll_event& e : epoll_.wait(events, 0))
    if (auto* question = static_cast<Question*>(e.data.ptr); question->fd) read(*question);
  while (!questions_.empty() && questions_.oldest().deadline.passed()) {
    Question& q = questions_.oldest();
    if (!q.gathering) read(q);
    if (!q.fd) continue;
    q.gathering ? answer(*q.gathering, false) : end(q, GuestEnd::kSilent, "did not ask in time");
  }
  questions_.sweep();
}

void Council::make_room(std::string_view what) {
  if (!questions_.empty()) crowd_out(questions_.oldest_of_most(), what);
}

void Council::crowd_out(Question& q, std::string_view what) {
  if (!q.gathering) read(q);  // its ask may be here, and unread it would reset the connection
  if (q.fd) end(q, GuestEnd::kCrowdedOut, what);
}

void Council::end(Question& q, GuestEnd how, std::string_view what) {
  ended_(q.from, how, what);
  if (q.gathering) return answer(*q.gathering, false, &q);
  // It counts for no agreement, so it may know that there is none: its ask may be on its way.
  if (how == GuestEnd::kCrowdedOut || how == GuestEnd::kSilent) tell(q, kNone);
  questions_.remove(q);
}

void Council::read(Question& q) {
  char more;
  char* const to = q.gathering ? &more : reinterpret_cast<char*>(&q.ask) + q.have;
  const ssize_t n = ::recv(q.fd.get(), to, q.gathering ? 1 : sizeof q.ask - q.have, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return end(q, GuestEnd::kHungUp, "went away with its question for figures");
  if (!q.gathering) q.have += static_cast<size_t>(n);
  const wire::Preamble expected{wire::kMagic, wire::kVersion, sizeof q.ask};
  const bool so_far = memcmp(&q.ask, &expected, std::min(q.have, sizeof expected)) == 0;
  const bool whole = q.have == sizeof q.ask;
  if (q.gathering || !so_far ||
      (whole && (q.ask.measured > 1 || (q.ask.measured == 1 && !q.ask.figures.possible()))))
    return end(q, GuestEnd::kNotFanin, "does not ask for figures as fanin does");
  if (whole) count(q);
}

void Council::count(Question& q) {
  Gathering& all = gatherings_[q.name];
  all.answer.preamble = kNone.preamble;
  all.asked.push_back(&q);
  q.gathering = &all;
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
  if (all.asked.size() == std::get<uint32_t>(q.name)) answer(all, true);
}

void Council::answer(Gathering& g, bool agreed, const Question* ended) {
  g.answer.agreed = 1;
  const Name name = g.asked.front()->name;
  for (Question* q : g.asked) {
    if (q != ended) ended_(q->from, GuestEnd::kAnswered, {});  // first, so that who was told finds it counted
    tell(*q, agreed ? g.answer : kNone);
    questions_.remove(*q);
  }
  gatherings_.erase(name);
}

}  // namespace fanin::reducer
