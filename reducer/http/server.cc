#include "reducer/http/server.h"

#include <sys/socket.h>

#include <cerrno>
#include <exception>

#include "reducer/counters.h"
#include "reducer/thread.h"
#include "transport/tcp/socket.h"

namespace fanin::reducer::http {
namespace {

constexpr std::chrono::milliseconds kExhaustedPause{100};
constexpr int kAcceptsPerTurn = 16;
constexpr size_t kMaxAnswers =
    64 << 20;  // bytes of all answers that are on their way, unless one alone is larger
constexpr size_t kMaxDiscarded = 1 << 20;  // of what a peer goes on to send after its request

// Also as ::ffff:127.0.0.1.
const tcp::NetworkList& loopback() {
  static const tcp::NetworkList list = *tcp::NetworkList::parse("127.0.0.0/8,::1");
  return list;
}

Response error_of(Parsed p) {
  if (p == Parsed::kTooLarge) return {431, "the request's head is too large\n"};
  return {400, "not a request of HTTP/1.0 or 1.1\n"};
}

}  // namespace

Result<std::unique_ptr<Server>> Server::start(const ServerConfig& config, Handler handler) {
  Result<Fd> listener = tcp::listen_on(config.listen);
  if (!listener) return listener.error();
  Result<tcp::Address> at = tcp::local_address(listener->get());
  if (!at) return at.error();
  Result<Epoll> epoll = Epoll::make();
  if (!epoll) return epoll.error();
  Result<Wake> wake = Wake::make();
  if (!wake) return wake.error();
  std::unique_ptr<Server> s(
      new Server(config, std::move(handler), *std::move(listener), *at, *std::move(epoll), *std::move(wake)));
  if (Status st = s->epoll_.add(s->listener_.get(), EPOLLIN, &s->listener_); !st) return st.error();
  if (Status st = s->epoll_.add(s->wake_.fd(), EPOLLIN, &s->wake_); !st) return st.error();
  Result<std::thread> thread = start_thread("fanin-status", [p = s.get()] { p->run(); });
  if (!thread) return thread.error();
  s->thread_ = *std::move(thread);
  return s;
}

Server::Server(const ServerConfig& config, Handler handler, Fd listener, tcp::Address address, Epoll epoll,
               Wake wake)
    : config_(config),
      handler_(std::move(handler)),
      listener_(std::move(listener)),
      address_(address),
      epoll_(std::move(epoll)),
      wake_(std::move(wake)) {}

Server::~Server() {
  if (!thread_.joinable()) return;
  stop_.store(true, std::memory_order_release);
  wake_.notify();
  thread_.join();
}

ServerCounts Server::counts() const {
  return {n_open_.load(std::memory_order_relaxed), n_answered_.load(std::memory_order_relaxed),
          n_dropped_.load(std::memory_order_relaxed)};
}

int Server::sleep_ms() const {
  Deadline next = open_.empty() ? Deadline::never() : open_.front().deadline;
  return (accept_again_ ? next.sooner(*accept_again_) : next).poll_ms();
}

void Server::run() {
  on_thread_.check();  // binds it
  epoll_event events[64];
  while (!stop_.load(std::memory_order_acquire)) {
    bool accept = false;
    for (const epoll_event& e : epoll_.wait(events, sleep_ms())) {
      if (e.data.ptr == &wake_)
        wake_.drain();
      else if (e.data.ptr == &listener_)
        accept = true;
      else if (auto* c = static_cast<Connection*>(e.data.ptr); c->fd)
        serve(*c);
    }
    while (!open_.empty() && open_.front().deadline.passed()) close(open_.front(), !open_.front().shut);
    if (accept_again_ && accept_again_->passed()) {
      accept_again_.reset();
      if (!epoll_.add(listener_.get(), EPOLLIN, &listener_)) accept_again_ = Deadline::after(kExhaustedPause);
    }
    if (accept && !accept_again_) accept_some();
    closed_.clear();
    n_open_.store(open_.size(), std::memory_order_relaxed);
  }
}

void Server::accept_some() {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    Result<Fd> fd = tcp::accept_from(listener_.get());
    if (!fd) {  // out of descriptors: the reducer's connections come first
      epoll_.remove(listener_.get());
      accept_again_ = Deadline::after(kExhaustedPause);
      return;
    }
    if (!*fd) return;
    Result<tcp::Address> from = tcp::remote_address(fd->get());
    if (!from || !(config_.allow.empty() || loopback().contains(*from) || config_.allow.contains(*from))) {
      count(n_dropped_, 1);
      continue;
    }
    if (open_.size() >= config_.max_connections) close(open_.front(), !open_.front().shut);
    auto self = open_.emplace(open_.end());
    self->self = self;
    self->fd = *std::move(fd);
    self->deadline = Deadline::after(config_.time);
    if (Status s = epoll_.add(self->fd.get(), EPOLLIN, &*self); !s) close(*self, true);
  }
}

// Nothing here throws but for want of memory; the connection pays for that, not the reducer.
void Server::serve(Connection& c) {
  on_thread_.check();
  try {
    if (c.answered && !c.shut)
      write(c);
    else
      read(c);
  } catch (const std::exception&) {
    close(c, true);
  }
}

void Server::read(Connection& c) {
  char bytes[4096];
  const ssize_t n = ::recv(c.fd.get(), bytes, sizeof bytes, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return close(c, !c.shut);
  if (c.shut) {
    c.sent += static_cast<size_t>(n);  // no longer needed: how much was discarded
    if (c.sent > kMaxDiscarded) close(c, false);
    return;
  }
  c.in.append(bytes, static_cast<size_t>(n));
  Request request;
  const Parsed parsed = parse_request(c.in, request);
  if (parsed == Parsed::kMore) return;
  if (parsed != Parsed::kRequest) return answer(c, error_of(parsed), true);
  if (request.method == "HEAD") {
    request.method = "GET";
    return answer(c, handler_(request, counts()), false);
  }
  if (request.method != "GET" && request.method != "POST")
    return answer(c, {405, "GET is what there is\n"}, true);
  answer(c, handler_(request, counts()), true);
}

void Server::answer(Connection& c, const Response& response, bool with_body) {
  c.out = bytes_of(response, with_body);
  c.answered = true;
  count(n_answered_, 1);
  answers_ += c.out.size();
  // Who has had the longest time to take its answer makes room.
  for (auto o = open_.begin(); answers_ > kMaxAnswers && o != open_.end();) {
    Connection& other = *o++;
    if (&other != &c && !other.out.empty()) close(other, true);
  }
  write(c);
}

void Server::write(Connection& c) {
  while (c.sent < c.out.size()) {
    const ssize_t n =
        ::send(c.fd.get(), c.out.data() + c.sent, c.out.size() - c.sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      if (Status s = epoll_.modify(c.fd.get(), EPOLLOUT, &c); !s) close(c, true);
      return;
    }
    if (n <= 0) return close(c, true);
    c.sent += static_cast<size_t>(n);
  }
  c.shut = true;
  c.sent = 0;
  forget_answer(c);
  if (::shutdown(c.fd.get(), SHUT_WR) != 0 || !epoll_.modify(c.fd.get(), EPOLLIN, &c)) close(c, false);
}

void Server::forget_answer(Connection& c) {
  answers_ -= c.out.size();
  std::string().swap(c.out);
}

void Server::close(Connection& c, bool dropped) {
  if (dropped) count(n_dropped_, 1);
  c.fd.reset();  // leaves epoll by itself
  forget_answer(c);
  closed_.splice(closed_.end(), open_, c.self);
}

}  // namespace fanin::reducer::http
